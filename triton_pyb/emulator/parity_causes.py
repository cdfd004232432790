"""Why served preprocessing differs from training: the usual causes, each tried out on a sample that differs.

Two kinds: something done to the served output makes it equal (other layout, channel order, scale, normalisation), or
something done while it is served (other input channels, other interpolation, no EXIF orientation).  And both.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from triton_pyb.runtime import resizing
from triton_pyb.runtime.images import decode_image, encode_image
from triton_pyb.runtime.picture_headers import read_header
from triton_pyb.runtime.pixels import IMAGENET_MEAN, IMAGENET_STD
from triton_pyb.runtime.signature import Signature

Array = NDArray[Any]
Serve = Callable[[Mapping[str, Any]], Any]
Inputs = Mapping[str, Any]

#: A cause that leaves this share of the distance explains most of it.
MOST = 0.2
#: Ways to normalise RGB in 0...1 that have a name.
NORMALIZATIONS = {
    "ImageNet's mean and std": (IMAGENET_MEAN, IMAGENET_STD),
    "mean 0.5 and std 0.5 (-1...1)": ((0.5,) * 3, (0.5,) * 3),
    "CLIP's mean and std": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
}


class Candidate(NamedTuple):
    """The served output after something was changed."""

    words: tuple[str, ...]
    array: Array


class Rerun(NamedTuple):
    """One thing to change while the sample is served again."""

    words: str
    inputs: Inputs
    around: Callable[[], Any] = nullcontext


def find_cause(
    training: Array, serving: Array, serve: Serve, inputs: Inputs, signature: Signature, rtol: float, atol: float
) -> str:
    """The simplest change that makes `serving` equal to `training`, in words; empty when none comes near.

    Parameters
    ----------
    serve : callable
        Serves one request again and gives the output in question.
    inputs : dict
        The request that gave `serving`.
    """
    best: tuple[str, ...] = ()
    remaining = _distance(training, serving) * MOST
    for words, array in _candidates(training, serving, serve, inputs, signature):
        if np.allclose(array, training, rtol=rtol, atol=atol, equal_nan=True):
            return "; ".join(words)
        distance = _distance(training, array)
        if distance < remaining and words:
            best, remaining = words, distance
    if best:
        return "mostly: " + "; ".join(best) + f" (a distance of {remaining:.3g} remains)"
    return _rounding(training, serving)


def _candidates(
    training: Array, serving: Array, serve: Serve, inputs: Inputs, signature: Signature
) -> Iterator[Candidate]:
    """The plain changes first, then those that need the sample served again, then both together.

    A fitted line per channel comes last: it has six numbers to turn, and so fits what something simpler explains.
    """
    served = [((), serving), *_served_again(serving, serve, inputs, signature)]
    for fitted in (False, True):
        for words, array in served:
            for candidate in _changed(training, array, fitted):
                yield Candidate((*words, *candidate.words), candidate.array)


def _served_again(serving: Array, serve: Serve, inputs: Inputs, signature: Signature) -> list[Candidate]:
    found = []
    for rerun in _reruns(inputs, signature):
        try:
            with rerun.around():
                again = serve(rerun.inputs)
        except Exception:  # the step does not take such an input, or the library such a size: not the cause
            continue
        if again.shape != serving.shape or not np.array_equal(again, serving):
            found.append(Candidate((rerun.words,), again))
    return found


def _changed(training: Array, serving: Array, fitted: bool) -> list[Candidate]:
    """The output in another layout, with the channels reversed, scaled: one thing first, then several."""
    numbers = _lines if fitted else _scales
    found = [
        Candidate((*layout.words, *order.words, *number.words), number.array)
        for layout in _layouts(training, serving)
        for order in _orders(layout.array)
        if order.array.shape == training.shape
        for number in numbers(training, order.array)
    ]
    return sorted(found, key=lambda candidate: len(candidate.words))


def _layouts(training: Array, array: Array) -> Iterator[Candidate]:
    yield Candidate((), array)
    if array.ndim == 3:
        yield Candidate(("training puts the channels first (CHW), serving last",), array.transpose(2, 0, 1))
        yield Candidate(("training puts the channels last (HWC), serving first",), array.transpose(1, 2, 0))
        yield Candidate(("height and width are swapped",), array.swapaxes(-1, -2))
        yield Candidate(("serving is mirrored",), array[..., ::-1] if array.shape[0] == 3 else array[:, ::-1])
    if training.ndim == array.ndim + 1 and training.shape[0] == 1:
        yield Candidate(("training adds a batch axis: index its result with [0]",), array[np.newaxis])


def _orders(array: Array) -> Iterator[Candidate]:
    yield Candidate((), array)
    axis = _channel_axis(array)
    if axis is not None and array.shape[axis] == 3:
        reversed_ = np.flip(array, axis)
        yield Candidate(("the channels of the output are in reverse order (RGB and BGR)",), reversed_)


def _scales(training: Array, array: Array) -> Iterator[Candidate]:
    yield Candidate((), array)
    values = array.astype(np.float64)
    yield Candidate(("training gives 0...255 where serving gives 0...1: scale by 255",), values * 255)
    yield Candidate(("training gives 0...1 where serving gives 0...255: divide by 255",), values / 255)
    slope, offset = _line(training, values)
    words = _named(slope, offset)
    if words:
        yield Candidate((words,), values * slope + offset)


def _lines(training: Array, array: Array) -> Iterator[Candidate]:
    values = array.astype(np.float64)
    slope, offset = _line(training, values)
    if slope.size:
        line = f"{_listed(slope)} x serving + {_listed(offset)}"
        yield Candidate((f"another scale or normalisation: training = {line}",), values * slope + offset)


def _line(training: Array, values: Array) -> tuple[Array, Array]:
    """Per channel the line that leads from serving to training, by least squares; empty where there is none."""
    axis = _channel_axis(values)
    others = tuple(place for place in range(values.ndim) if place != axis)
    center = values.mean(axis=others, keepdims=True)
    wanted = training.astype(np.float64)
    spread = ((values - center) ** 2).sum(axis=others, keepdims=True)
    if not np.isfinite(wanted).all() or not np.isfinite(spread).all() or not (spread > 0).all():
        return np.zeros(0), np.zeros(0)
    wanted_center = wanted.mean(axis=others, keepdims=True)
    slope = ((values - center) * (wanted - wanted_center)).sum(axis=others, keepdims=True) / spread
    return slope, wanted_center - slope * center


def _named(slope: Array, offset: Array) -> str:
    """A line per channel in the words of a normalisation, where it is one with a name."""
    for name, (mean, std) in NORMALIZATIONS.items():
        for scale, said in ((255.0, "divides by 255 and "), (1.0, "")):
            for known_mean, known_std in ((mean, std), (mean[::-1], std[::-1])):
                a, b = 1 / (scale * np.array(known_std)), -np.array(known_mean) / np.array(known_std)
                turned = " in reverse channel order" if known_mean != mean else ""
                if _near(slope.ravel(), offset.ravel(), a, b):
                    return f"training {said}normalises with {name}{turned}, serving does not"
                if _near(slope.ravel(), offset.ravel(), 1 / a, -b / a):
                    return f"serving {said}normalises with {name}{turned}, training does not"
    return ""


def _listed(numbers: Array) -> str:
    return "[" + ", ".join(f"{number:.4g}" for number in numbers.ravel()) + "]"


def _near(slope: Array, offset: Array, a: Array, b: Array) -> bool:
    if len(slope) == 1:
        a, b = a[:1], b[:1]
    elif len(slope) != len(a):
        return False
    return bool(np.allclose(slope, a, rtol=1e-3) and np.allclose(offset, b, rtol=1e-3, atol=1e-3))


def _channel_axis(array: Array) -> int | None:
    if array.ndim != 3:
        return None
    return next((axis for axis in (0, 2) if array.shape[axis] in (1, 3)), None)


def _distance(one: Array, other: Array) -> float:
    if one.shape != other.shape:
        return float("inf")
    distance = np.abs(one.astype(np.float64) - other.astype(np.float64))
    return float("inf") if np.isnan(distance).any() else float(distance.max(initial=0))


def _rounding(training: Array, serving: Array) -> str:
    distance, spread = _distance(training, serving), float(np.ptp(training)) if training.size else 0.0
    if spread and distance <= spread * 3 / 255:
        return f"none found, but it is as little as rounding or another JPEG decoder changes: {distance:.3g}"
    return ""


# --- served again


def _reruns(inputs: Inputs, signature: Signature) -> Iterator[Rerun]:
    for field in signature.inputs:
        if field.kind == "image" and isinstance(inputs.get(field.name), bytes):
            yield from _other_pictures(inputs, field.name, field.options["mode"])
    for words, resize in _RESIZES.items():
        yield Rerun(f"training resizes like {words}", inputs, partial(_resizing, resize))


def _other_pictures(inputs: Inputs, name: str, mode: str) -> Iterator[Rerun]:
    data = inputs[name]
    upright = decode_image(data)
    if mode != "GRAY":
        other = "RGB" if mode == "BGR" else "BGR"
        swapped = encode_image(upright, "BGR", "PNG")
        yield Rerun(f"training reads {other} where serving reads {mode}", {**inputs, name: swapped})
        grey = encode_image(decode_image(data, "GRAY"), "GRAY", "PNG")
        yield Rerun("training reads the picture in grey", {**inputs, name: grey})
    header = read_header(data)
    if header is not None and header.orientation != 1:
        words = f"training ignores the EXIF orientation ({header.orientation}), serving applies it"
        yield Rerun(words, {**inputs, name: _not_turned(data)})


def _not_turned(data: bytes) -> bytes:
    import PIL.Image

    with PIL.Image.open(io.BytesIO(data)) as picture:
        return encode_image(np.asarray(picture.convert("RGB")), "RGB", "PNG")


def _resize_as(how: str, like: str) -> Callable[[Array, int, int], Array]:
    return lambda image, height, width: resizing.resize(image, (height, width), how, like=like)


_RESIZES = {
    **{f"Pillow or torchvision, {how}": _resize_as(how, "pillow") for how in resizing.PILLOW_FILTERS},
    **{f"OpenCV, {how}": _resize_as(how, "opencv") for how in resizing.OPENCV_FILTERS},
    **{f"Pillow up to 12, {how}": _resize_as(how, "pillow12") for how in ("bilinear", "bicubic", "lanczos")},
}


@contextmanager
def _resizing(resize: Callable[[Array, int, int], Array]) -> Iterator[None]:
    """While it holds, `cv2.resize`, Pillow's `resize` and ours resize as `resize` does, to the size asked for."""
    import cv2
    import PIL.Image

    inside = threading.local()
    in_opencv, in_pillow, in_ours = cv2.resize, PIL.Image.Image.resize, resizing._with_pillow

    def instead(image: Array, height: int, width: int) -> Array:
        inside.busy = True
        try:
            return resize(image, height, width)
        finally:
            inside.busy = False

    def opencv_resize(src: Any, dsize: Any = None, *rest: Any, **options: Any) -> Any:
        if getattr(inside, "busy", False) or not dsize:
            return in_opencv(src, dsize, *rest, **options)
        return instead(src, dsize[1], dsize[0])

    def pillow_resize(self: Any, size: Any, *rest: Any, **options: Any) -> Any:
        if getattr(inside, "busy", False) or self.mode not in ("L", "RGB", "F"):
            return in_pillow(self, size, *rest, **options)
        return PIL.Image.fromarray(instead(np.asarray(self), size[1], size[0]))

    def our_resize(library: Any, image: Array, height: int, width: int, *rest: Any) -> Array:
        if getattr(inside, "busy", False):
            return in_ours(library, image, height, width, *rest)
        return instead(image, height, width)

    with (
        mock.patch.object(cv2, "resize", opencv_resize),
        mock.patch.object(PIL.Image.Image, "resize", pillow_resize),
        mock.patch.object(resizing, "_with_pillow", our_resize),
    ):
        yield
