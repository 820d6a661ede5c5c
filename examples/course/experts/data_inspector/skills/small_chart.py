"""Bar charts as PNG files, by the standard library alone: no package need be installed.

A picture is a grid of palette indices. Letters are 3 by 5 dots, drawn larger.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 78, 20, 44, 62
WHITE, BLACK, GREY, BAR = range(4)
PALETTE = bytes((255, 255, 255, 34, 34, 34, 216, 216, 216, 58, 110, 165))

# Five rows of three dots each, as one number in octal: 0o75557 is a box.
GLYPHS = {
    "0": 0o75557, "1": 0o26227, "2": 0o71747, "3": 0o71717, "4": 0o55711, "5": 0o74717,
    "6": 0o74757, "7": 0o71222, "8": 0o75757, "9": 0o75717, "A": 0o25755, "B": 0o65656,
    "C": 0o34443, "D": 0o65556, "E": 0o74647, "F": 0o74644, "G": 0o34553, "H": 0o55755,
    "I": 0o72227, "J": 0o11152, "K": 0o55655, "L": 0o44447, "M": 0o57755, "N": 0o65555,
    "O": 0o25552, "P": 0o65644, "Q": 0o25563, "R": 0o65655, "S": 0o34216, "T": 0o72222,
    "U": 0o55557, "V": 0o55552, "W": 0o55775, "X": 0o55255, "Y": 0o55222, "Z": 0o71247,
    " ": 0, ".": 0o00002, ",": 0o00024, "-": 0o00700, "+": 0o02720, "_": 0o00007, ":": 0o02020,
    "/": 0o11244, "%": 0o51245, "(": 0o12221, ")": 0o42224, "=": 0o07070, "'": 0o22000,
    "<": 0o12421, ">": 0o42124, "#": 0o57575, "&": 0o25256, "?": 0o71202,
}  # fmt: skip


class Canvas:
    """A picture that is drawn on."""

    def __init__(self) -> None:
        self.rows = [bytearray(WIDTH) for _ in range(HEIGHT)]

    def box(self, left: int, top: int, right: int, bottom: int, color: int) -> None:
        """Fill a rectangle; what is outside of the picture is cut off."""
        left, right = max(left, 0), min(right, WIDTH)
        if right > left:
            for row in self.rows[max(top, 0) : max(min(bottom, HEIGHT), 0)]:
                row[left:right] = bytes((color,)) * (right - left)

    def text(self, left: int, top: int, text: str, size: int = 2) -> None:
        """Write letters; those that have no picture become `?`."""
        for letter in text.upper():
            dots = GLYPHS.get(letter, GLYPHS["?"])
            for place in range(15):
                if dots >> (14 - place) & 1:
                    x, y = left + place % 3 * size, top + place // 3 * size
                    self.box(x, y, x + size, y + size, BLACK)
            left += 4 * size

    def png(self) -> bytes:
        """The picture as a file."""
        head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
        lines = b"".join(b"\0" + row for row in self.rows)
        return b"".join(
            (
                b"\x89PNG\r\n\x1a\n",
                _chunk(b"IHDR", head),
                _chunk(b"PLTE", PALETTE),
                _chunk(b"IDAT", zlib.compress(lines, 6)),
                _chunk(b"IEND", b""),
            )
        )


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def text_width(text: str, size: int = 2) -> int:
    """How many dots a text takes."""
    return max(4 * len(text) - 1, 0) * size


def shorten(text: str, most: int) -> str:
    """A label of at most `most` letters."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 2] + ".."


def number(value: float) -> str:
    """A number as an axis shows it."""
    if value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.2g}"
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def steps(highest: float, most: int = 5) -> list[float]:
    """Round marks for an axis of counts, which begins at 0."""
    rough = max(highest / most, 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    return [step * count for count in range(math.ceil(highest / step) + 1)]


def bars(title: str, labels: Sequence[str], counts: Sequence[int], below: str) -> bytes:
    """A chart with a bar for each count, as a PNG file.

    `labels` stand below the bars; one more label than bars stands below the edges between them.
    """
    canvas = Canvas()
    canvas.text(LEFT, 16, shorten(title, 46), 3)
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    marks = steps(max(counts, default=0))
    top_mark = marks[-1] or 1
    for mark in marks:
        y = bottom - round((bottom - TOP) * mark / top_mark)
        canvas.box(LEFT, y, right, y + 1, BLACK if mark == 0 else GREY)
        label = number(mark)
        canvas.text(LEFT - 8 - text_width(label), y - 5, label)
    slot = (right - LEFT) / max(len(counts), 1)
    for place, count in enumerate(counts):
        x = LEFT + slot * place
        y = bottom - round((bottom - TOP) * count / top_mark)
        canvas.box(round(x + slot * 0.06) + 1, y, round(x + slot * 0.94), bottom, BAR)
    canvas.box(LEFT, TOP, LEFT + 1, bottom + 1, BLACK)
    _label_axis(canvas, labels, len(counts), slot)
    below = shorten(below, 60)
    canvas.text((LEFT + right - text_width(below)) // 2, HEIGHT - 20, below)
    return canvas.png()


def _label_axis(canvas: Canvas, labels: Sequence[str], count: int, slot: float) -> None:
    """Write labels below the axis, as many as have room."""
    on_edges = len(labels) > count
    longest = max((text_width(label) for label in labels), default=0)
    every = 1 if on_edges else 0
    if on_edges:
        every = max(1, math.ceil((longest + 10) / slot))
    for place, label in enumerate(labels):
        if on_edges and place % every:
            continue
        x = LEFT + slot * (place if on_edges else place + 0.5)
        shown = label if on_edges else shorten(label, max(2, int(slot // 8)))
        y = HEIGHT - BOTTOM + 8
        # Neighbours that have little room stand on two lines.
        if not on_edges and longest > slot and place % 2:
            y += 14
        canvas.text(round(x - text_width(shown) / 2), y, shown)
