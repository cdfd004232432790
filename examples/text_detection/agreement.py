"""Do two answers for one picture agree?  Used by the tests and by the demonstration."""

from __future__ import annotations

from typing import Any

import numpy as np

# The same network on two builds of onnxruntime may differ in the last bits of a probability, and a pixel that
# crosses the threshold moves a corner by about one pixel of the 736 x 736 canvas.
CANVAS = 736
CANVAS_PIXELS = 2.0
SCORE = 0.02


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What differs beyond rounding, one sentence each; empty when the two agree."""
    for key in ("width", "height"):
        if first[key] != second[key]:
            return [f"{key}: {first[key]} and {second[key]}"]
    if len(first["boxes"]) != len(second["boxes"]):
        return [f"number of boxes: {len(first['boxes'])} and {len(second['boxes'])}"]
    tolerance = CANVAS_PIXELS * max(1.0, max(first["width"], first["height"]) / CANVAS)
    found = []
    for number, (one, other) in enumerate(zip(first["boxes"], second["boxes"], strict=True)):
        distance = float(np.abs(np.subtract(one["points"], other["points"])).max())
        if distance > tolerance:
            found.append(f"box {number}: a corner is {distance:.1f} pixels off (allowed: {tolerance:.1f})")
        if abs(one["score"] - other["score"]) > SCORE:
            found.append(f"box {number}: scores {one['score']} and {other['score']} (allowed: {SCORE} apart)")
    return found
