"""The stub process: reads tasks from its parent, runs the model on its main thread, answers from any thread."""

from __future__ import annotations

import _thread
import atexit
import builtins
import itertools
import os
import queue
import signal
import socket
import sys
import threading
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import surface
from .errors import EmulatorError, HostError
from .lifecycle import Model, ModelFailed, enter
from .messages import WireRequest, WireResponse
from .stub import Stub
from .wire import Channel, request_in, request_out, response_in, response_out


class ProcessImporter:
    """Import model.py the way the stub does: ``<version>.model`` along an appended `sys.path`."""

    own_process = True

    def __init__(self, version_dir: str, version: str, model_file: Optional[str]) -> None:
        self.version_dir, self.version, self.model_file = version_dir, version, model_file

    def load(self, pb_utils: ModuleType, c_module: ModuleType) -> ModuleType:
        sys.modules[surface.PB_UTILS] = pb_utils
        sys.modules[c_module.__name__] = c_module
        path = self.model_file or os.path.join(self.version_dir, "model.py")
        folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
        own = folder == self.version_dir  # else the stand-in of another backend
        name = f"{self.version}.{stem}" if own else stem
        sys.path.append(folder)
        if own:
            sys.path.append(os.path.dirname(folder))
        sys.path.append(surface.BACKEND_FOLDER)
        if not os.path.exists(path.encode("utf-8", "surrogateescape")):  # as C++ sees it, whatever Python's locale
            raise ModelFailed(f"Python model file not found in '{path}'")
        enter(builtins.__import__, name)
        return sys.modules[name]

    def unload(self) -> None:
        pass  # the process ends


class PipeLink:
    """The stub's way to the server half: calls with a reply, streams of responses, log lines."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._ids = itertools.count(1)
        self._waiting: Dict[int, queue.SimpleQueue[Tuple[Any, ...]]] = {}

    def _open(self, kind: str, *arguments: Any) -> Tuple[int, queue.SimpleQueue[Tuple[Any, ...]]]:
        number = next(self._ids)
        replies: queue.SimpleQueue[Tuple[Any, ...]] = queue.SimpleQueue()
        self._waiting[number] = replies
        self._channel.send("call", number, kind, arguments)
        return number, replies

    def _ask(self, kind: str, *arguments: Any) -> Any:
        number, replies = self._open(kind, *arguments)
        fine, value = replies.get()
        del self._waiting[number]
        if not fine:
            raise HostError(value)
        return value

    def reply(self, number: int, *reply: Any) -> None:
        """A reply came in; called by the reader."""
        replies = self._waiting.get(number)
        if replies is not None:
            replies.put(reply)

    def control(self, *call: Any) -> Any:
        return self._ask("control", *call)

    def metric(self, *call: Any) -> Any:
        return self._ask("metric", *call)

    def log(self, level: str, file: str, line: int, message: str) -> None:
        self._channel.send("log", level, file, line, message)

    def cancel(self, key: int) -> None:
        self._channel.send("cancel", key)

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        number, replies = self._open("infer", request_out(request), decoupled)
        return self._stream(number, replies)

    def _stream(self, number: int, replies: queue.SimpleQueue[Tuple[Any, ...]]) -> Iterator[WireResponse]:
        try:
            while True:
                more, plain = replies.get()
                if not more:
                    return
                response = response_in(plain)
                assert response is not None
                yield response
        finally:
            self._waiting.pop(number, None)


#: How long the author's own threads and exit functions may go on after `finalize`.
_FAREWELL_S = 5.0


def _take_leave() -> None:
    """End the process as the interpreter of a real stub ends: threads first, then what `atexit` has."""
    overdue = threading.Timer(_FAREWELL_S, os._exit, [0])
    overdue.daemon = True
    overdue.start()
    # Ends the idle workers of executors, waits for the others.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # without taking the modules apart, which is slow, and where their C code may crash


class Process:
    """The main thread's loop over `work`, and the reader of `talk` beside it."""

    def __init__(self, work: Channel, talk: Channel) -> None:
        self._work, self._channel = work, talk
        self._link = PipeLink(talk)
        self._model: Optional[Model] = None

    def run(self) -> None:
        """Work until `finalize` was done, then leave."""
        # Not by `threading`: a model that counts its threads must not find ours.
        _thread.start_new_thread(self._read, ())
        while True:
            try:
                task, *arguments = self._work.receive()
            except EOFError:
                os._exit(0)  # the parent is gone
            handler: Callable[..., None] = getattr(self, f"_do_{task}")
            handler(*arguments)
            if task == "finalize":
                break
        _take_leave()

    def _read(self) -> None:
        try:
            while True:
                kind, *arguments = self._channel.receive()
                if kind == "reply":
                    self._link.reply(*arguments)
                elif kind == "cancel" and self._model is not None:
                    self._model.stub.cancelled.add(arguments[0])
                elif kind == "ready":
                    threading.Thread(target=self._do_ready, daemon=True).start()
        except EOFError:
            os._exit(0)  # the parent is gone

    def _make(self, launch: Dict[str, Any]) -> Model:
        version_dir = os.path.join(launch["model_dir"], launch["version"])
        stub = Stub(self._link, launch["release"], launch["instance_name"], version_dir, launch["decoupled"])
        stub.gpu = launch["gpu"]
        return Model(stub, ProcessImporter(version_dir, launch["version"], launch["model_file"]))

    def _answer(self, work: Callable[[], object]) -> None:
        try:
            self._channel.send("done", True, work())
        except ModelFailed as failed:
            self._channel.send("done", False, str(failed))
        except EmulatorError as error:
            self._channel.send("done", False, tuple(error.fault()))

    def _do_auto_complete(self, launch: Dict[str, Any], config: Dict[str, Any]) -> None:
        model = self._model = self._make(launch)
        self._answer(lambda: model.auto_complete(config))

    def _do_initialize(self, launch: Dict[str, Any], args: Dict[str, str]) -> None:
        model = self._model = self._make(launch)
        self._answer(lambda: model.initialize(args))

    def _do_execute(self, batch: int, plain: List[Any]) -> None:
        model = self._model
        assert model is not None
        together: List[Tuple[Any, ...]] = []
        main = threading.get_ident()
        running = [True]

        def respond(index: int, response: Optional[WireResponse], flags: int) -> None:
            message = (index, response_out(response), flags)
            # What execute returned travels with its end; what a sender sends must not wait for it.
            if running[0] and model.returned and threading.get_ident() == main:
                together.append(message)
            else:
                self._channel.send("respond", batch, *message)

        fault = model.execute([request_in(one) for one in plain], respond)
        running[0] = False
        self._channel.send("executed", batch, together, fault and tuple(fault))

    def _do_ready(self) -> None:
        reason = self._model.is_ready() if self._model else None
        self._channel.send("readiness", reason)

    def _do_finalize(self) -> None:
        if self._model is not None and self._model.instance is not None:
            self._model.finalize()
        self._channel.send("done", True, None)


def _hide_depth(depth: int) -> None:
    """Let the limit of the recursion count from the model's frames: in a real stub there are none below them."""
    get, set_ = sys.getrecursionlimit, sys.setrecursionlimit
    set_(get() + depth)

    def getrecursionlimit() -> int:
        return get() - depth

    def setrecursionlimit(limit: int) -> None:
        if not isinstance(limit, int) or limit < 1:
            set_(limit)  # which complains
        set_(limit + depth)

    sys.getrecursionlimit, sys.setrecursionlimit = getrecursionlimit, setrecursionlimit


#: Frames below `execute`: the module of the bootstrap, `main`, `run`, `_do_execute`, `execute`, `_run`, `enter`.
_OWN_FRAMES = 7


def main(*descriptors: int) -> None:
    """Entry of the child process; the descriptors are its ends of the socket pairs for work and for talk."""
    # An embedded interpreter takes its name for "python3"; so does what a model starts with sys.executable.
    named = os.path.join(os.path.dirname(sys.executable), "python3")
    sys.executable = named if os.path.exists(named) else sys.executable
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    _hide_depth(_OWN_FRAMES)
    ends = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    for end in ends:
        end.set_inheritable(False)
    Process(*map(Channel, ends)).run()
