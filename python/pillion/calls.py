"""Running one function for one request: plain, asynchronous or a generator; then its one reply."""

from __future__ import annotations

import os

from pillion import bind, errors, files, interrupt
from pillion.encode import Unencodable, encode
from pillion.errors import Fault
from pillion.interrupt import INVOKE_CODE, invoke
from pillion.resolve import resolve
from pillion.state import STATE, Call, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Any

    from pillion.channel import Channel

errors.BOUNDARIES.add(INVOKE_CODE)


async def _coroutine() -> None:
    pass


async def _async_generator() -> AsyncIterator[None]:
    yield


# As the `types` module finds them, without its import.
GeneratorType = type(_ for _ in ())
AsyncGeneratorType = type(_async_generator())
_sample = _coroutine()
CoroutineType = type(_sample)
_sample.close()

# Types that are certainly a finished value: the common case is one set lookup.
_FINISHED = frozenset({dict, list, str, int, float, bool, type(None), tuple})


class Runner:
    """Runs requests one after the other and writes exactly one reply for each."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        STATE.send_progress = self._send_progress

    def call(self, id: Any, params: Any, progress: bool) -> None:
        """Answer `call`."""

        def work(call: Call) -> Any:
            if type(params) is not dict:
                raise Fault("invalid_request", "`params` of a call must be an object")
            args, kwargs = bind.arguments(params.get("params"))
            function = resolve(params.get("function"))
            stream = bool(params.get("stream"))
            if not (progress and params.get("prints")):
                return self.perform(call, function, args, kwargs, stream)
            from pillion import printing

            told = printing.begin(call)
            try:
                return self.perform(call, function, args, kwargs, stream)
            finally:
                printing.end(told)

        self.run(id, work, progress)

    def invoke(self, id: Any, params: Any, progress: bool) -> None:
        """Answer `invoke`: an exposed function by its name, with checked arguments."""

        def work(call: Call) -> Any:
            from pillion import expose

            if type(params) is not dict:
                raise Fault("invalid_request", "`params` of an invoke must be an object")
            exposure = expose.exposure(params.get("modules"))
            tool = exposure.find(params.get("name"))
            args, kwargs = tool.bind(params.get("params"))
            stream = bool(params.get("stream"))
            value = self.perform(call, tool.function, args, kwargs, stream)
            version = exposure.version()
            return {"value": value, "streams": call.streamed, "version": version}

        self.run(id, work, progress)

    def run(
        self,
        id: Any,
        work: Callable[[Call], Any],
        progress: bool = False,
        to_error: Callable[..., dict[str, Any]] = errors.to_error,
        with_files: bool = True,
    ) -> None:
        """Run `work` as the call with this id and write its reply."""
        call = Call(id, progress)
        records: list[Any] = []
        # From here a cancel finds this call. `running` is cleared before anything is written: a
        # cancel that comes after that is too late, and harmless.
        STATE.running = call
        try:
            if STATE.early and interrupt.take_early(id):
                raise Cancelled
            reply = {"id": id, "result": work(call)}
            if with_files and files.pending():
                records = reply["files"] = files.take()
            line = encode(reply)
            STATE.running = None
        except BaseException as error:
            STATE.running = None
            self._leave_if_forked(error)
            line = self._failure(id, error, call, to_error, records)
        else:
            self._leave_if_forked()
        if len(line) > self.channel.max_line:
            line = _error_line(id, self._too_large(len(line)), records)
        interrupt.reinstall()
        STATE.recent.append(id)
        self.channel.write(line)

    @staticmethod
    def _failure(
        id: Any,
        error: BaseException,
        call: Call,
        to_error: Callable[..., dict[str, Any]],
        records: list[Any],
    ) -> bytes:
        if to_error is errors.to_error and files.pending():
            records += files.take()
        try:
            return _error_line(id, to_error(error, asked=call.asked), records)
        except BaseException as problem:
            # An exception class or an id made to confuse us: still exactly one answer.
            message = f"the error could not be described: {type(problem).__name__}"
            last = {"code": "internal_error", "message": message, "recoverable": False}
            try:
                return _error_line(id, last, records)
            except Unencodable:
                return _error_line(None, last, records)

    def perform(
        self,
        call: Call,
        function: Callable[..., Any],
        args: Any,
        kwargs: dict[str, Any],
        stream: bool = False,
    ) -> Any:
        """Call a function and bring whatever it returns to its end."""
        if call.pending:  # came during the import, which is never interrupted
            call.pending = False
            raise Cancelled
        try:
            value = invoke(function, args, kwargs)
        except TypeError as error:
            fitting = bind.explain(error, function, args, kwargs, INVOKE_CODE)
            if fitting is None:
                raise
            value = invoke(function, *fitting)
        if type(value) in _FINISHED:
            return value
        return self._settle(call, value, stream)

    def _settle(self, call: Call, value: Any, stream: bool) -> Any:
        kind = type(value)
        if kind is CoroutineType or (kind is not GeneratorType and hasattr(kind, "__await__")):
            from pillion import aio

            value = aio.run(call, value)
            kind = type(value)
        call.streamed = kind is AsyncGeneratorType or _is_iterator(kind)
        if not call.streamed:
            return value
        items: list[Any] = []
        emit = self._emitter(call) if stream else items.append
        if kind is AsyncGeneratorType:
            from pillion import aio

            aio.run(call, aio.pump(call, value, emit))
            returned = None
        else:
            returned = _pump(call, value, emit)
        return returned if stream else items

    def _emitter(self, call: Call) -> Callable[[Any], None]:
        def emit(item: Any) -> None:
            line = encode({"id": call.id, "item": item})
            if len(line) > self.channel.max_line:
                error = self._too_large(len(line))
                raise Fault(error["code"], error["message"], hint=error["hint"])
            self._leave_if_forked()
            self.channel.write(line)

        return emit

    def _send_progress(self, call: Call, report: dict[str, Any]) -> None:
        try:
            line = encode({"id": call.id, "progress": report})
        except Unencodable as error:
            raise TypeError(str(error)) from None
        if len(line) <= self.channel.max_line and os.getpid() == STATE.pid:
            self.channel.write(line)

    def _too_large(self, size: int) -> dict[str, Any]:
        return {
            "code": "response_too_large",
            "message": f"the reply has {size} bytes, more than {self.channel.max_line}",
            "recoverable": True,
            "hint": "return less, stream it from a generator, or raise `--max-line`",
        }

    def reject(self, id: Any, code: str, message: str, type: str) -> None:
        """Answer a line that could not be understood."""
        error = {"type": type, "code": code, "message": errors.clean(message), "recoverable": True}
        try:
            self.channel.write(_error_line(id, error, []))
        except Unencodable:
            self.channel.write(_error_line(None, error, []))

    @staticmethod
    def _leave_if_forked(error: BaseException | None = None) -> None:
        """A child made by `os.fork()` in user code must not go on as a second worker."""
        if os.getpid() == STATE.pid:
            return
        if error is None:
            os._exit(0)
        code = error.code if isinstance(error, SystemExit) else 1
        os._exit(code & 0xFF if isinstance(code, int) else int(code is not None))


def _error_line(id: Any, error: dict[str, Any], records: list[Any]) -> bytes:
    reply: dict[str, Any] = {"id": id, "error": error}
    if records:
        reply["files"] = records
    return encode(reply)


def _is_iterator(kind: type) -> bool:
    # Not every iterator: an open file is one, too.
    return kind is GeneratorType or (
        hasattr(kind, "__next__") and kind.__module__ in ("builtins", "itertools")
    )


def _pump(call: Call, iterator: Iterator[Any], emit: Callable[[Any], None]) -> Any:
    """Hand on each value; returns the generator's return value."""
    throw = getattr(iterator, "throw", None)
    try:
        while True:
            try:
                if call.pending and throw is not None:
                    # The signal may only ever have met our own frames.
                    call.pending = False
                    item = invoke(throw, (Cancelled(),), {})
                else:
                    item = invoke(next, (iterator,), {})
            except StopIteration as stop:
                return stop.value
            emit(item)
    except BaseException:
        close = getattr(iterator, "close", None)
        if close is not None:
            try:
                invoke(close, (), {})
            except BaseException:  # noqa: S110 - the first error is the one to report
                pass
        raise
