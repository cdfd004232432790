"""Crop a picture and turn its pixels into the numbers a network was trained on."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple, Union

import numpy as np

from .dtypes import Array

PerChannel = Union[float, Sequence[float]]

#: Mean and standard deviation, for RGB in 0...1, of most models trained on ImageNet.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def center_crop(image: Array, size: Union[int, Tuple[int, int]]) -> Array:
    """The middle of a picture, as ``torchvision.transforms.CenterCrop`` cuts it.

    Parameters
    ----------
    image : numpy.ndarray, shape (height, width) or (height, width, channels)
    size : int or (height, width)
        An int is a square.

    Returns
    -------
    numpy.ndarray
        A view; where the picture is smaller than `size`, a copy with zeros around it.

    Examples
    --------
    >>> center_crop(np.arange(15).reshape(3, 5), (1, 2))
    array([[7, 8]])
    """
    height, width = (size, size) if isinstance(size, int) else size
    missing_rows, missing_columns = max(height - image.shape[0], 0), max(width - image.shape[1], 0)
    if missing_rows or missing_columns:  # the odd row and column of padding go to the end
        rows = (missing_rows // 2, (missing_rows + 1) // 2)
        columns = (missing_columns // 2, (missing_columns + 1) // 2)
        image = np.pad(image, [rows, columns] + [(0, 0)] * (image.ndim - 2))
    top, left = round((image.shape[0] - height) / 2), round((image.shape[1] - width) / 2)
    return image[top : top + height, left : left + width]


def normalize(
    image: Array,
    mean: PerChannel = 0.0,
    std: PerChannel = 1.0,
    *,
    scale: float = 255.0,
    layout: str = "CHW",
    out: Optional[Array] = None,
) -> Array:
    """``(image / scale - mean) / std`` per channel, as float32, in the layout of the network.

    Parameters
    ----------
    image : numpy.ndarray of uint8 or float32, shape (height, width) or (height, width, channels)
    mean, std : float or sequence of one float per channel
        In the order of the channels of `image`.
    scale : float
        255 as ``ToTensor`` does; 1 leaves the values as they are.
    layout : {"CHW", "HWC"}
    out : numpy.ndarray of float32, optional
        Where to write, for example one row of a batch: ``out=batch[i]``.

    Returns
    -------
    numpy.ndarray of float32, shape (channels, height, width) or (height, width, channels)
        A picture without channels has one.  C-contiguous unless `out` is not.

    Raises
    ------
    ValueError
        When dtype, shape, or the number of means does not fit, a `std` or `scale` is 0, or `out` has another shape.

    Notes
    -----
    Computed in float32, in the order of the formula, in place: the same bits as torchvision's ``ToTensor`` and
    ``Normalize`` on the CPU, and no array besides the result.

    Examples
    --------
    >>> normalize(np.array([[[0, 51, 255]]], np.uint8), mean=0.5, std=0.5).ravel().tolist()
    [-1.0, -0.6000000238418579, 1.0]
    """
    if image.ndim == 2:
        image = image[:, :, np.newaxis]
    if image.ndim != 3 or image.dtype not in (np.uint8, np.float32):
        wanted = "(height, width, channels), of uint8 or float32"
        raise ValueError(f"a picture has the shape {wanted}; this one is {image.shape} of {image.dtype}")
    channels = image.shape[2]
    if channels > 4 >= image.shape[0]:
        raise ValueError(f"the shape {image.shape} looks like (channels, height, width) already")
    if layout not in ("CHW", "HWC"):
        raise ValueError(f"layout={layout!r} is neither 'CHW' nor 'HWC'")
    means, stds = _per_channel("mean", mean, channels), _per_channel("std", std, channels)
    if not scale or not stds.all():
        raise ValueError(f"a division by zero: scale={scale!r}, std={stds.tolist()}")
    shape = (channels,) + image.shape[:2] if layout == "CHW" else image.shape
    if out is None:
        out = np.empty(shape, np.float32)
    elif out.shape != shape or out.dtype != np.float32:
        raise ValueError(f"out= is {out.dtype} of shape {out.shape}; it has to be float32 of shape {shape}")
    for channel in range(channels):
        target = out[channel] if layout == "CHW" else out[:, :, channel]
        np.copyto(target, image[:, :, channel])
        target /= np.float32(scale)
        target -= means[channel]
        target /= stds[channel]
    return out


def _per_channel(name: str, value: PerChannel, channels: int) -> Array:
    array = np.asarray(value, np.float32)
    if array.ndim == 0:
        array = np.full(channels, array)
    if array.shape != (channels,):
        raise ValueError(f"{name}= has {array.size} values, and the picture {channels} channels")
    return array
