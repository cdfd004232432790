"""From a map of text probabilities to boxes: plain numpy and OpenCV, nothing of Triton."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

# The operating point that rapidocr ships for this model (its config.yaml, section Det).
THRESHOLD = 0.3  # a pixel above it is text
MIN_SCORE = 0.5  # mean probability inside a box
UNCLIP_RATIO = 1.6  # the model marks the middle of a line; the box is grown by area * ratio / perimeter
MIN_SIDE = 3.0  # in pixels of the map; what is thinner is noise


class Box(NamedTuple):
    """One line of text.

    Attributes
    ----------
    points : ndarray of shape (4, 2), float32
        x and y in pixels: top left, top right, bottom right, bottom left, seen along the text.
    score : float
        Mean probability inside the box before it was grown, in 0...1.
    """

    points: np.ndarray
    score: float


def find_boxes(probability: np.ndarray) -> list[Box]:
    """Boxes in pixels of the map (shape (height, width), float32), in reading order; [] for an empty map."""
    text = (probability > THRESHOLD).astype(np.uint8)
    text = cv2.dilate(text, np.ones((2, 2), np.uint8))  # joins strokes that one pixel separates
    contours, _ = cv2.findContours(text, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    boxes = []
    for contour in contours:
        (x, y), (width, height), angle = cv2.minAreaRect(contour)
        if min(width, height) < MIN_SIDE:
            continue
        score = mean_inside(probability, cv2.boxPoints(((x, y), (width, height), angle)))
        if score < MIN_SCORE:
            continue
        margin = width * height * UNCLIP_RATIO / (2 * (width + height))
        grown = ((x, y), (width + 2 * margin, height + 2 * margin), angle)
        boxes.append(Box(clockwise_from_top_left(cv2.boxPoints(grown)), score))
    return in_reading_order(boxes)


def mean_inside(probability: np.ndarray, points: np.ndarray) -> float:
    """Mean of the map inside a polygon; `points` has shape (n, 2), x and y."""
    height, width = probability.shape
    left, top = np.clip(np.floor(points.min(axis=0)).astype(int), 0, (width - 1, height - 1))
    right, bottom = np.clip(np.ceil(points.max(axis=0)).astype(int), 0, (width - 1, height - 1))
    # Most boxes are far smaller than the map, and the slice is a view.
    window = probability[top : bottom + 1, left : right + 1]
    inside = np.zeros(window.shape, np.uint8)
    cv2.fillPoly(inside, [np.round(points - (left, top)).astype(np.int32)], 1)
    return float(cv2.mean(window, inside)[0])


def clockwise_from_top_left(points: np.ndarray) -> np.ndarray:
    """The corners of a rectangle, first the one nearest to the top left of the picture."""
    centre = points.mean(axis=0)
    around = np.arctan2(points[:, 1] - centre[1], points[:, 0] - centre[0])
    points = points[np.argsort(around)]  # y points down, so growing angles run clockwise
    return np.roll(points, -int(np.argmin(points.sum(axis=1))), axis=0)


def in_reading_order(boxes: list[Box]) -> list[Box]:
    """Top to bottom; boxes whose middles lie within half a line of each other are one row, left to right."""
    rows: list[list[tuple[float, float, Box]]] = []
    for box in sorted(boxes, key=lambda box: float(box.points[:, 1].mean())):
        x, y = box.points.mean(axis=0)
        line_height = float(np.linalg.norm(box.points[3] - box.points[0]))
        if rows and y - rows[-1][0][1] < line_height / 2:
            rows[-1].append((float(x), float(y), box))
        else:
            rows.append([(float(x), float(y), box)])
    return [box for row in rows for _, _, box in sorted(row, key=lambda entry: entry[0])]
