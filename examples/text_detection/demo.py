"""Build the pipeline, ask the emulator and a real Triton for the same picture, and show that they agree.

Run: python demo.py [PICTURE]
Exit status: 0 when both give the same boxes, 1 when they do not.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import tritonclient.http
from agreement import differences
from app import pipeline
from PIL import Image
from rich.console import Console
from rich.table import Table

from triton_pyb.emulator import EmulatedTriton
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

HERE = Path(__file__).parent
MODEL = "text_detection"
RED = (220, 20, 20)


def ask_emulator(repository: Path, picture: bytes) -> dict[str, Any]:
    """The answer of the emulator, which needs no server."""
    with EmulatedTriton(repository) as triton:
        answer = triton.infer(MODEL, {"image": picture})
    return dict(json.loads(answer["result"][0, 0]))


def ask_server(address: str, picture: bytes) -> dict[str, Any]:
    """The answer of a real Triton at HOST:PORT, through tritonclient as any client would use it."""
    tensor = tritonclient.http.InferInput("image", [1, 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[picture]], dtype=object))
    client = tritonclient.http.InferenceServerClient(address)
    try:
        answer = client.infer(MODEL, [tensor])
    finally:
        client.close()
    return dict(json.loads(answer.as_numpy("result")[0, 0]))


def table_of(emulated: dict[str, Any], served: dict[str, Any]) -> Table:
    """One row per box; where only one side has a box, the other side's column is empty."""
    table = Table(title=f"Lines of text on a picture of {emulated['width']} x {emulated['height']} pixels")
    table.add_column("line", justify="right")
    table.add_column("top left")
    table.add_column("bottom right")
    table.add_column("score, emulator", justify="right")
    table.add_column("score, real Triton", justify="right")
    for number in range(max(len(emulated["boxes"]), len(served["boxes"]))):
        boxes = [side["boxes"][number] if number < len(side["boxes"]) else None for side in (emulated, served)]
        points = next(box for box in boxes if box)["points"]
        corners = [f"{x:.0f}, {y:.0f}" for x, y in (points[0], points[2])]
        scores = [f"{box['score']:.3f}" if box else "" for box in boxes]
        table.add_row(str(number + 1), *corners, *scores)
    return table


def draw_boxes(picture: bytes, boxes: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the picture with a numbered box around every line of text."""
    image = np.array(Image.open(io.BytesIO(picture)).convert("RGB"))
    width = max(1, max(image.shape) // 500)
    for number, box in enumerate(boxes, start=1):
        corners = np.round(box["points"]).astype(np.int32)
        cv2.polylines(image, [corners], True, RED, width)
        cv2.putText(image, str(number), corners[0].tolist(), cv2.FONT_HERSHEY_SIMPLEX, width / 3, RED, width)
    Image.fromarray(image).save(path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", type=Path, default=HERE / "pictures" / "notice.jpg")
    parser.add_argument("--out", type=Path, default=Path("text_detection.png"), help="the picture with boxes")
    parser.add_argument(
        "--server-picture",
        type=Path,
        help="send the server this picture instead: shows that a difference is noticed",
    )
    options = parser.parse_args(arguments)
    console = Console()
    picture = options.picture.read_bytes()
    to_server = (options.server_picture or options.picture).read_bytes()

    with tempfile.TemporaryDirectory(prefix="text_detection_") as folder:
        repository = Path(folder) / "models"
        build(pipeline, repository)
        models = ", ".join(sorted(path.name for path in repository.iterdir() if path.is_dir()))
        console.print(f"[bold]built[/]       {models}")
        started = time.monotonic()
        emulated = ask_emulator(repository, picture)
        console.print(f"[bold]emulator[/]    {len(emulated['boxes'])} boxes, {time.monotonic() - started:.1f} s")
        started = time.monotonic()
        with RealTriton(repository) as triton:
            console.print(f"[bold]server[/]      {triton.description}")
            served = ask_server(triton.http_url.removeprefix("http://"), to_server)
        console.print(f"            {len(served['boxes'])} boxes, {time.monotonic() - started:.1f} s")

    console.print(table_of(emulated, served))
    draw_boxes(picture, emulated["boxes"], options.out)
    console.print(f"boxes drawn in {options.out}", soft_wrap=True)
    found = differences(emulated, served)
    for difference in found:
        console.print(f"[bold red]differs[/] {difference}")
    if not found:
        console.print("[bold green]the emulator and the real Triton agree[/]")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
