"""Resize and letterbox as the training did: as Pillow and torchvision do it, or as OpenCV does it."""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple, Union

import numpy as np

from .dtypes import Array
from .errors import Unavailable, did_you_mean
from .images import opencv, pillow
from .resampling import resample

Size = Union[int, Tuple[int, int]]

PILLOW_FILTERS = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")
OPENCV_FILTERS = ("nearest", "bilinear", "bicubic", "area", "lanczos")


def resize(image: Array, size: Size, how: str = "bilinear", *, like: str = "pillow") -> Array:
    """Resize one picture.

    Parameters
    ----------
    image : numpy.ndarray of uint8 or float32, shape (height, width) or (height, width, channels)
    size : int or (height, width)
        An int is the length of the shorter side, as for ``torchvision.transforms.Resize(256)``.
    how : str
        ``"nearest"``, ``"bilinear"``, ``"bicubic"``; with Pillow also ``"box"``, ``"hamming"`` and ``"lanczos"``,
        with OpenCV also ``"area"`` and ``"lanczos"``.
    like : {"pillow", "pillow12", "opencv"}
        ``"pillow"``: averages over all pixels when it shrinks (antialiased), as Pillow 13, torchvision on
        pictures, timm and transformers do.  ``"pillow12"``: as Pillow up to 12, see the notes.  The same bits with
        every Pillow and without, it is only the faster way.
        ``"opencv"``: ``cv2.resize``, which looks at 2 x 2 or 4 x 4 pixels also when it shrinks, save for
        ``"area"``.

    Returns
    -------
    numpy.ndarray of the dtype of `image`
        A new array, or `image` itself when it has that size already.

    Raises
    ------
    ValueError
        When the dtype, the shape, `size`, `how` or `like` is none of the above.
    Unavailable
        When `like` is ``"opencv"`` and OpenCV is not installed.

    Notes
    -----
    Up to 12, Pillow resizes the rows first, then the columns.  From 13 on it begins with the columns when the height
    loses more than twice as many pixels as the width, and as 8 bit values are rounded in between, the two differ:
    up to 1 of 255 for bilinear, more for the sharper filters at strong edges.

    torchvision resizes tensors of uint8 by itself: with ``antialias=True`` up to 1 of 255 from ``"pillow12"``, with
    ``antialias=False`` up to 1 from ``like="opencv"`` for bilinear and up to 12 at strong edges for bicubic (0.3 on
    average).  Measured by ``scripts/record_torchvision.py``.

    Examples
    --------
    >>> resize(np.array([[0, 100]], np.uint8), (1, 4)).tolist()
    [[0, 25, 75, 100]]
    >>> resize(np.zeros((300, 400, 3), np.uint8), 224).shape
    (224, 298, 3)
    """
    _check_picture(image)
    height, width = _target(image, size)
    if like not in ("pillow", "pillow12", "opencv"):
        raise ValueError(f"like={like!r} is none of 'pillow', 'pillow12', 'opencv'")
    filters = OPENCV_FILTERS if like == "opencv" else PILLOW_FILTERS
    if how not in filters:
        raise ValueError(f"how={how!r} is none of {', '.join(filters)}{did_you_mean(how, filters)}")
    if image.shape[:2] == (height, width):
        return image
    if like == "opencv":
        return _with_opencv(image, height, width, how)
    lost_rows, lost_columns = image.shape[0] - height, image.shape[1] - width
    columns_first = like == "pillow" and lost_rows > 0 and lost_rows > 2 * lost_columns
    library = pillow()
    if library is None:
        return resample(image, height, width, how, columns_first)
    return _with_pillow(library, image, height, width, how, columns_first)


class Letterbox(NamedTuple):
    """A picture fitted into a frame.

    Attributes
    ----------
    image : numpy.ndarray, shape (frame height, frame width) or (frame height, frame width, channels)
    geometry : numpy.ndarray of float32, shape (6,)
        ``(scale_x, scale_y, left, top, width, height)``: frame = original * scale + (left, top), and the size of
        the original.  A tensor that can travel from preprocessing to postprocessing.
    """

    image: Array
    geometry: Array


def letterbox(
    image: Array,
    size: Size,
    *,
    color: Union[int, Tuple[int, ...]] = 114,
    enlarge: bool = True,
    center: bool = True,
    how: str = "bilinear",
    like: str = "opencv",
) -> Letterbox:
    """Fit one picture into a frame, its proportions kept, the rest filled with `color`.

    Parameters
    ----------
    image : numpy.ndarray of uint8 or float32, shape (height, width) or (height, width, channels)
    size : int or (height, width)
        The frame; an int is a square.
    color : int or tuple
        114 and the other defaults are those of the YOLO family (``ultralytics``).
    enlarge : bool
        False leaves a smaller picture at its size.
    center : bool
        False puts it into the upper left corner.
    how, like : str
        See `resize`.

    Examples
    --------
    >>> boxed = letterbox(np.zeros((50, 100, 3), np.uint8), 64, like="pillow")
    >>> boxed.image.shape, boxed.geometry.tolist()
    ((64, 64, 3), [0.6399999856948853, 0.6399999856948853, 0.0, 16.0, 100.0, 50.0])
    >>> restore_boxes(np.array([[0, 16, 32, 48]], np.float32), boxed.geometry).round(3).tolist()
    [[0.0, 0.0, 50.0, 50.0]]
    """
    _check_picture(image)
    frame_height, frame_width = (size, size) if isinstance(size, int) else size
    height, width = image.shape[:2]
    scale = min(frame_height / height, frame_width / width)
    scale = scale if enlarge else min(scale, 1.0)
    new_height, new_width = max(1, round(height * scale)), max(1, round(width * scale))
    resized = resize(image, (new_height, new_width), how, like=like)
    # An odd pixel goes to the right and to the bottom.
    top = (frame_height - new_height) // 2 if center else 0
    left = (frame_width - new_width) // 2 if center else 0
    framed = np.empty((frame_height, frame_width) + image.shape[2:], image.dtype)
    framed[:] = color
    framed[top : top + new_height, left : left + new_width] = resized
    return Letterbox(framed, np.array([new_width / width, new_height / height, left, top, width, height], np.float32))


def restore_boxes(boxes: Array, geometry: Array) -> Array:
    """Boxes of a letterboxed picture in pixels of the original, clipped to it.

    Parameters
    ----------
    boxes : numpy.ndarray, shape (..., 4)
        ``(x1, y1, x2, y2)``, edges: the first pixel reaches from 0 to 1.
    geometry : numpy.ndarray, shape (6,)
        From `letterbox`.

    Returns
    -------
    numpy.ndarray of float32, shape (..., 4)
    """
    scale, offset, size = geometry[0:2], geometry[2:4], geometry[4:6]
    corners = boxes.reshape(boxes.shape[:-1] + (2, 2)).astype(np.float32)
    restored: Array = np.clip((corners - offset) / scale, 0, size)
    return restored.reshape(boxes.shape).astype(np.float32)


def _check_picture(image: Array) -> None:
    if image.ndim not in (2, 3) or not image.size:
        raise ValueError(f"a picture has the shape (height, width) or (height, width, channels), not {image.shape}")
    if image.dtype not in (np.uint8, np.float32):
        raise ValueError(f"a picture is uint8 or float32, not {image.dtype}: cast it first")
    if image.ndim == 3 and image.shape[2] > 4 >= image.shape[0]:
        raise ValueError(f"the shape {image.shape} looks like (channels, height, width): transpose(1, 2, 0) first")


def _target(image: Array, size: Size) -> Tuple[int, int]:
    height, width = image.shape[:2]
    if isinstance(size, int):  # torchvision's rule: the longer side is cut off, not rounded
        if height <= width:
            size = (size, int(size * width / height))
        else:
            size = (int(size * height / width), size)
    new_height, new_width = size
    if new_height < 1 or new_width < 1:
        raise ValueError(f"size={size!r}: at least 1 in both directions")
    return new_height, new_width


def _with_opencv(image: Array, height: int, width: int, how: str) -> Array:
    cv = opencv()
    if cv is None:
        raise Unavailable("resizing as OpenCV does needs OpenCV, which is not installed where this model runs")
    flags = {
        "nearest": cv.INTER_NEAREST,
        "bilinear": cv.INTER_LINEAR,
        "bicubic": cv.INTER_CUBIC,
        "area": cv.INTER_AREA,
        "lanczos": cv.INTER_LANCZOS4,
    }
    resized: Array = cv.resize(np.ascontiguousarray(image), (width, height), interpolation=flags[how])
    return resized.reshape((height, width) + image.shape[2:])  # OpenCV drops a single channel


def _with_pillow(library: Any, image: Array, height: int, width: int, how: str, columns_first: bool) -> Array:
    if image.ndim == 2 or (image.shape[2] == 3 and image.dtype == np.uint8):
        return _one_with_pillow(library, image, height, width, how, columns_first)
    # Channel by channel: Pillow would multiply the colours of four channels by the last.
    channels = [image[:, :, channel] for channel in range(image.shape[2])]
    return np.stack([_one_with_pillow(library, one, height, width, how, columns_first) for one in channels], axis=2)


def _one_with_pillow(library: Any, image: Array, height: int, width: int, how: str, columns_first: bool) -> Array:
    flag = getattr(getattr(library, "Resampling", library), how.upper())
    picture = library.fromarray(np.ascontiguousarray(image))
    if how != "nearest":  # one direction at a time: the order shall not depend on the release that is installed
        half_way = (picture.width, height) if columns_first else (width, picture.height)
        picture = picture.resize(half_way, flag)
    return np.array(picture.resize((width, height), flag))
