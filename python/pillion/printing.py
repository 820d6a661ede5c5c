"""What a function prints, told to whoever called it while it runs."""

from __future__ import annotations

import sys

from pillion.state import STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pillion.state import Call

# Characters of one message, and of one call; what is more is in the log only.
PIECE, MOST = 16_384, 262_144


# The streams of `sys` that a function prints to.
NAMES = ("stdout", "stderr")


class Told:
    """Stands for a stream of `sys` during a call: what is written goes there, and to the caller."""

    def __init__(self, call: Call, stream: Any) -> None:
        self._call, self._stream, self._left, self._line = call, stream, MOST, ""

    def write(self, text: str) -> int:
        """Write as the stream does; the caller hears of whole lines."""
        written: int = self._stream.write(text)
        if STATE.running is self._call and self._left > 0:
            self._line += text[: self._left]
            self._left -= len(text)
            end = self._line.rfind("\n") + 1
            if len(self._line) > PIECE:
                end = len(self._line)
            self._tell(end)
        return written

    def writelines(self, lines: Any) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def close_call(self) -> None:
        """The call is over: what is left of its last line."""
        self._tell(len(self._line))

    def _tell(self, end: int) -> None:
        text, self._line = self._line[:end], self._line[end:]
        if text and STATE.send_progress is not None:
            STATE.send_progress(self._call, {"printed": text})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def begin(call: Call) -> list[Told]:
    """Tell the caller of what is printed from now on."""
    told = []
    for name in NAMES:
        one = Told(call, getattr(sys, name))
        setattr(sys, name, one)
        told.append(one)
    return told


def end(told: list[Told]) -> None:
    """Print to the streams alone again, and tell the rest."""
    for name, one in zip(NAMES, told, strict=True):
        if getattr(sys, name) is one:
            setattr(sys, name, one._stream)
        one.close_call()
