"""Recorded cases: a repository, requests to it, and what a real server answered."""

from __future__ import annotations

import base64
import http.client
import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "cases" / "config_cases.json"


def cases_with_requests() -> dict[str, dict[str, Any]]:
    """Name to case, of those that send something."""
    cases = json.loads(CASES.read_text())["cases"]
    return {case["name"]: case for case in cases if case.get("requests")}


def write_repository(case: dict[str, Any], root: Path) -> Path:
    """Lay the case's files out below `root`; the repository."""
    repository = root / "repository"
    repository.mkdir()
    for name, content in case["files"].items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content["b64"]) if isinstance(content, dict) else content.encode())
    for name in case.get("dirs", []):
        (repository / name).mkdir(parents=True, exist_ok=True)
    return repository


def send(port: int, request: dict[str, Any], timeout_s: float = 20.0) -> tuple[Any, str]:
    """Status and body of one recorded request; status ``"timeout"`` when nothing came."""
    body = request.get("body")
    text = body if isinstance(body, (str, type(None))) else json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(request["method"], request["path"], text)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "surrogateescape")
    except TimeoutError:
        return "timeout", ""
    finally:
        connection.close()
