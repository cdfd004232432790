"""Do two answers for one picture agree?  Used by the tests and by the demonstration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

CANVAS = 736


class Tolerance(NamedTuple):
    """What still counts as the same answer.

    Attributes
    ----------
    pixels : float
        How far a corner may be off, on the picture.
    canvas_pixels : float
        The same on the 736 x 736 canvas that the network sees; the larger of the two counts.
    score : float
        How much a score may differ.
    """

    pixels: float
    canvas_pixels: float
    score: float


#: Both sides run one onnxruntime: what is left is the rounding of a corner to a pixel, or of a score.
SAME_RUNTIME = Tolerance(pixels=0.51, canvas_pixels=0.0, score=0.001)

#: Two builds of onnxruntime may differ in the last bits of a probability, and a pixel that crosses the threshold moves
#: a corner by about one pixel of the canvas.
OTHER_RUNTIME = Tolerance(pixels=2.0, canvas_pixels=2.0, score=0.02)


def differences(first: dict[str, Any], second: dict[str, Any], allowed: Tolerance = SAME_RUNTIME) -> list[str]:
    """What differs beyond `allowed`, one sentence each; empty when the two agree."""
    for key in ("width", "height"):
        if first[key] != second[key]:
            return [f"{key}: {first[key]} and {second[key]}"]
    if len(first["boxes"]) != len(second["boxes"]):
        return [f"number of boxes: {len(first['boxes'])} and {len(second['boxes'])}"]
    pixels = max(allowed.pixels, allowed.canvas_pixels * max(first["width"], first["height"]) / CANVAS)
    found = []
    for number, (one, other) in enumerate(zip(first["boxes"], second["boxes"], strict=True)):
        distance = float(np.abs(np.subtract(one["points"], other["points"])).max())
        if distance > pixels:
            found.append(f"box {number}: a corner is {distance:.1f} pixels off (allowed: {pixels:.2f})")
        if abs(one["score"] - other["score"]) > allowed.score:
            found.append(f"box {number}: scores {one['score']} and {other['score']} (allowed: {allowed.score} apart)")
    return found
