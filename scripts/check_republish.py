"""Republish a pipeline under load into a real Triton that polls; print totals.

python scripts/check_republish.py --publishes 50 --poll-secs 1
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from tests.repository.applications import pipeline_text, write
from triton_pyb.repository import build
from triton_pyb.server import RealTriton, TritonClient


class Load:
    """Clients that ask without pause, and keep every answer that belongs to no publish."""

    def __init__(self, url: str, clients: int) -> None:
        self.url = url
        self.published: set[float] = set()
        self.newest = 0.0
        self.answers = 0
        self.wrong: list[str] = []
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.ask) for _ in range(clients)]

    def ask(self) -> None:
        client = TritonClient(self.url, 20.0)
        while not self.ending.is_set():
            try:
                y = float(client.infer("sums", {"x": np.ones((1, 2), np.float32)})["y"][0, 0])
            except Exception as error:
                self.wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
                continue
            self.answers += 1
            self.newest = y
            if y not in self.published:
                self.wrong.append(f"answer {y}, which no publish gives")
        client.close()


def republish(publishes: int, poll_secs: int, clients: int, keep: int) -> dict[str, object]:
    """Publish, wait for the first new answer, and so on; every third publish renames and reshapes the inner tensor."""
    with tempfile.TemporaryDirectory(prefix="triton_pyb_republish_") as name:
        folder = Path(name)
        seconds = []

        def publish(index: int, load: Load | None) -> None:
            # y = 1 * factor + offset tells publishes apart, and a mixture of two from both
            factor, offset = index * 1000.0, index + 0.5
            mid, shape = (f"mid{index // 3 % 2}", "(2,)" if index // 3 % 2 else "(1, 2, 1)")
            write(folder, {"app.py": pipeline_text(mid, str(factor), str(offset), shape)})
            if load is not None:
                load.published.add(factor + offset)
            build(str(folder / "app.py:pipeline"), folder / "models", new_version=True, keep=keep)
            if load is not None:
                start = time.monotonic()
                while load.newest != factor + offset and time.monotonic() - start < 60:
                    time.sleep(0.02)
                seconds.append(time.monotonic() - start)

        publish(1, None)
        arguments = [f"--repository-poll-secs={poll_secs}"]
        with RealTriton(folder / "models", model_control_mode="poll", extra_args=arguments) as server:
            load = Load(server.http_url, clients)
            load.published.add(1001.5)
            for thread in load.threads:
                thread.start()
            for index in range(2, publishes + 2):
                publish(index, load)
            time.sleep(poll_secs + 1)
            load.ending.set()
            for thread in load.threads:
                thread.join()
            log = server.log
        # "loading: m:1" is also logged when an unchanged version is only looked at; an instance that starts is a load
        started = Counter(re.findall(r"ModelInstanceInitialize: (\w+?)_0_\d", log))
        return {
            "publishes": publishes,
            "answers": load.answers,
            "wrong": load.wrong[:5],
            "wrong_count": len(load.wrong),
            "errors_logged": [
                line for line in log.splitlines() if re.match(r"E\d{4} ", line) and "cuda" not in line.lower()
            ][:5],
            "step versions published": 2 * (publishes + 1),
            "instances started": sum(started.values()),
            "seen after, median s": round(float(np.median(seconds)), 2),
            "seen after, most s": round(max(seconds), 2),
            "never seen": sum(second >= 60 for second in seconds),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--publishes", type=int, default=50)
    parser.add_argument("--poll-secs", type=int, default=1)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--keep", type=int, default=2)
    totals = republish(**vars(parser.parse_args()))
    for key, value in totals.items():
        print(f"{key}: {value}")
    once = totals["instances started"] == totals["step versions published"]
    sys.exit(bool(totals["wrong_count"] or totals["errors_logged"] or not once or totals["never seen"]))
