"""What preprocessing and postprocessing of pictures need to match their training; all of it travels.

``from triton_pyb.runtime import vision``, then ``vision.resize(image, 256)``.
"""

from .boxes import clip_boxes, from_center, from_corner, iou, nms
from .images import NoPicture, decode_image, encode_image
from .pixels import IMAGENET_MEAN, IMAGENET_STD, center_crop, normalize
from .resizing import Letterbox, letterbox, resize, restore_boxes
from .scores import sigmoid, softmax, top_k

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Letterbox",
    "NoPicture",
    "center_crop",
    "clip_boxes",
    "decode_image",
    "encode_image",
    "from_center",
    "from_corner",
    "iou",
    "letterbox",
    "nms",
    "normalize",
    "resize",
    "restore_boxes",
    "sigmoid",
    "softmax",
    "top_k",
]
