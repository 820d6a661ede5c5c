"""A table that a learner uploaded: what is in it, whether it suits the chapter, and a plot.

Runs in the expert lane: files come by `pillion.tools.read`, and what is written into `outputs/`
is kept with the consultation.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections import Counter
from datetime import date, datetime
from typing import Any

import small_chart
from pillion import tools

Row = list[str]

TABLES = (".csv", ".tsv", ".txt", ".json", ".xlsx", ".xls")
MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?"}
TRUTH = {"true", "false", "yes", "no"}
DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m")
MOST_ROWS = 200_000
MOST_COLUMNS = 200
SHOWN_COLUMNS = 30
EXAMPLES = 3
BINS = 10
GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
PERSONAL = re.compile(
    r"(^|[^a-z])(e-?mail|phone|address|(first|last|sur)[ _]?name|birth[a-z]*|ssn|iban)([^a-z]|$)"
)
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


class UnreadableError(Exception):
    """A file that is no table; says why to the learner."""


def run(
    file: str | None = None,
    column: str | None = None,
    minimum_rows: int = 10,
    minimum_numeric: int = 1,
    minimum_groups: int = 1,
    question: str = "",
    context: str = "",
    files: list[str] | None = None,
) -> dict[str, Any]:
    """Inspect one table. What it gives back is described in `inspect_table.md`."""
    given = [name.removeprefix("read:") for name in tools.available() if name.startswith("read:")]
    # The names in `files` are in the host's order, the newest first.
    known = [name for name in files or given if name in given]
    try:
        name = _choose(known, file, f"{question}\n{context}")
        names, rows, warnings = _read(name)
    except (UnreadableError, tools.ToolError) as error:
        said = f"Summary: no table could be inspected. {error}"
        return {"error": str(error), "files": known, "summary": str(error), "report": said}
    columns = [_describe(title, [row[at] for row in rows]) for at, title in enumerate(names)]
    _warn_about_numbers(columns, rows, warnings)
    _protect_people(columns, warnings)
    suitability = _judge(rows, columns, minimum_rows, (minimum_numeric, minimum_groups))
    plot = _plot(name, columns, rows, column)
    result = {
        "file": name,
        "rows": len(rows),
        "columns": columns[:SHOWN_COLUMNS],
        "columns_not_shown": max(0, len(columns) - SHOWN_COLUMNS),
        "suitability": suitability,
        "warnings": warnings[:10],
        "plot": plot,
    }
    return {**result, "summary": _summary(result), "report": _report(result)}


def _choose(known: list[str], wanted: str | None, words: str) -> str:
    if wanted:
        if wanted not in known:
            there = ", ".join(known[:10]) or "none"
            raise UnreadableError(f"There is no file `{wanted}`. Files: {there}.")
        return wanted
    readable = [name for name in known if name.lower().endswith(TABLES)]
    named = [name for name in readable if name.lower() in words.lower()]
    if not readable:
        raise UnreadableError("There is no table yet. Upload a CSV, Excel or JSON file.")
    return (named or readable)[0]


def _read(name: str) -> tuple[list[str], list[Row], list[str]]:
    """Titles, rows of the same length, and what was odd about them."""
    data = tools.read(name)
    end = os.path.splitext(name)[1].lower()
    warnings: list[str] = []
    if end == ".json":
        table = _read_json(data)
    elif end in (".xlsx", ".xls"):
        table = _read_excel(data, end)
    else:
        table = _read_csv(data, warnings)
    table = [row for row in table if any(cell.strip() for cell in row)]
    if not table:
        raise UnreadableError(f"`{name}` is empty.")
    if len(table) > MOST_ROWS + 1:
        warnings.append(f"Only the first {MOST_ROWS} rows were looked at.")
        del table[MOST_ROWS + 1 :]
    width = min(len(table[0]), MOST_COLUMNS)
    if len(table[0]) > width:
        warnings.append(f"Only the first {MOST_COLUMNS} columns were looked at.")
    return _titles(table[0][:width], warnings), _even(table, width, warnings), warnings


def _titles(head: Row, warnings: list[str]) -> list[str]:
    titles = [title.strip() or f"column {at + 1}" for at, title in enumerate(head)]
    doubled = [title for title, count in Counter(titles).items() if count > 1]
    if doubled:
        warnings.append(f"Several columns are called {_quoted(doubled)}.")
    if all(_number(title) is not None for title in titles):
        warnings.append(
            "The first row holds numbers: the line with the columns' names may be missing."
        )
    return titles


def _even(table: list[Row], width: int, warnings: list[str]) -> list[Row]:
    full = len(table[0])
    odd = [at for at, row in enumerate(table) if at and len(row) != full]
    if odd:
        lines = ", ".join(str(at + 1) for at in odd[:5])
        warnings.append(f"Rows with another number of values: {len(odd)} (lines {lines}).")
    return [(row + [""] * width)[:width] for row in table[1:]]


def _decode(data: bytes, warnings: list[str]) -> str:
    for encoding in ("utf-8-sig", "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    warnings.append("The file is not UTF-8: letters such as ä may be wrong. Save it as UTF-8.")
    return data.decode("latin-1")


def _read_csv(data: bytes, warnings: list[str]) -> list[Row]:
    if b"\0" in data[:4096] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableError("The file is no text. Export the table as CSV.")
    text = _decode(data, warnings)
    line = next((line for line in text.splitlines() if line.strip()), "")
    mark = max(",;\t|", key=line.count)
    if mark != "," and line.count(mark):
        warnings.append(f"Values are separated by {mark!r}, not by a comma: pass `sep={mark!r}`.")
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark if mark in line else ",")
        return [row for row, _ in zip(rows, range(MOST_ROWS + 2), strict=False)]
    except csv.Error as error:
        raise UnreadableError(f"The file is no CSV: {error}.") from None


def _read_json(data: bytes) -> list[Row]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise UnreadableError(f"The file is no JSON: {error}.") from None
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if lists else [value]
    if not isinstance(value, list):
        raise UnreadableError("The JSON is no list of records.")
    records = value[: MOST_ROWS + 1]
    if all(isinstance(record, dict) for record in records):
        titles = [*dict.fromkeys(key for record in records for key in record)]
        return [titles, *([_cell(record.get(title)) for title in titles] for record in records)]
    if all(isinstance(record, list) for record in records):
        return [[_cell(cell) for cell in record] for record in records]
    return [["value"], *([_cell(record)] for record in records)]


def _read_excel(data: bytes, end: str) -> list[Row]:
    try:
        if end == ".xlsx":
            import openpyxl

            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            rows = book.worksheets[0].iter_rows(values_only=True, max_row=MOST_ROWS + 2)
            return [[_cell(cell) for cell in row] for row in rows]
        import pandas as pd

        frame = pd.read_excel(io.BytesIO(data), header=None, nrows=MOST_ROWS + 2)
        blank = frame.isna().to_numpy()
        rows = enumerate(frame.to_numpy().tolist())
        return [
            [_cell(None if blank[y][x] else cell) for x, cell in enumerate(row)] for y, row in rows
        ]
    except ImportError:
        said = f"This Python cannot read {end} files. Save the table as CSV and upload that."
        raise UnreadableError(said) from None
    except Exception as error:  # the packages raise whatever they like
        raise UnreadableError(f"The Excel file cannot be read: {error}. Save it as CSV.") from None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, datetime):
        midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
        return str(value.date()) if midnight else value.isoformat(sep=" ")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    # `1_000` and `nan` are numbers to Python, and to nobody who reads a table.
    return value if math.isfinite(value) and "_" not in text else None


def _is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING


def _day(text: str) -> date | None:
    for form in DAYS:
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 - a day of a table
        except ValueError:
            pass
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None


def _type(values: list[str]) -> str:
    if not values:
        return "empty"
    if {value.lower() for value in values} <= TRUTH:
        return "boolean"
    if all(_number(value) is not None for value in values):
        whole = all(re.fullmatch(r"[-+]?\d+", value) for value in values)
        return "integer" if whole else "number"
    if all(_day(value) is not None for value in values[:1000]):
        return "date"
    return "text"


def _describe(title: str, cells: list[str]) -> dict[str, Any]:
    values = [cell.strip() for cell in cells if not _is_missing(cell)]
    kind = _type(values)
    counted = Counter(values)
    column: dict[str, Any] = {
        "name": title[:100],
        "type": kind,
        "missing": len(cells) - len(values),
        "distinct": len(counted),
        "examples": [value[:60] for value in [*counted][:EXAMPLES]],
    }
    if kind in ("integer", "number"):
        numbers = sorted(float(value) for value in values)
        middle = len(numbers) // 2
        column["min"], column["max"] = _round(numbers[0]), _round(numbers[-1])
        column["mean"] = _round(math.fsum(numbers) / len(numbers))
        column["median"] = _round((numbers[middle] + numbers[~middle]) / 2)
    elif kind == "date":
        days = [day for day in map(_day, values) if day is not None]
        column["min"], column["max"] = str(min(days)), str(max(days))
    elif kind in ("text", "boolean"):
        column["most_frequent"] = [[value[:60], count] for value, count in counted.most_common(3)]
    return column


def _round(value: float) -> float | int:
    value = float(f"{value:.6g}")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _warn_about_numbers(
    columns: list[dict[str, Any]], rows: list[Row], warnings: list[str]
) -> None:
    for at, column in enumerate(columns):
        if column["type"] != "text":
            continue
        values = [row[at].strip() for row in rows if not _is_missing(row[at])]
        name = column["name"]
        good = sum(_number(value) is not None for value in values)
        if all(GROUPED.fullmatch(value) or _number(value) is not None for value in values):
            warnings.append(f"`{name}` has numbers with commas between thousands: they are text.")
        elif all(DECIMAL_COMMA.fullmatch(value) or _number(value) is not None for value in values):
            warnings.append(f"`{name}` has numbers with a decimal comma: they are text to Python.")
        elif good >= 0.8 * len(values):
            bad = next(value for value in values if _number(value) is None)
            warnings.append(f"`{name}` is nearly all numbers, but has {bad[:30]!r}.")


def _protect_people(columns: list[dict[str, Any]], warnings: list[str]) -> None:
    """Repeat no values of columns that seem to be about persons."""
    personal = [column for column in columns if PERSONAL.search(column["name"].lower())]
    for column in personal:
        column["examples"], column["personal"] = [], True
        for value in ("min", "max", "mean", "median", "most_frequent"):
            column.pop(value, None)
    if personal:
        names = _quoted([column["name"] for column in personal])
        warnings.insert(0, f"{names} may be about real persons: work with a copy without them.")


def _judge(
    rows: list[Row], columns: list[dict[str, Any]], minimum_rows: int, minimum: tuple[int, int]
) -> dict[str, Any]:
    numeric = [column["name"] for column in columns if column["type"] in ("integer", "number")]
    groups = [
        column["name"]
        for column in columns
        if column["type"] in ("text", "boolean")
        and 1 < column["distinct"] <= max(2, len(rows) // 2)
    ]
    cells = len(rows) * len(columns)
    missing = sum(column["missing"] for column in columns) / cells if cells else 1.0
    kinds = (("numeric columns", numeric), ("columns of groups", groups))
    checks = [("rows", len(rows) >= minimum_rows, f"{len(rows)} rows; needed: {minimum_rows}")]
    for (kind, found), needed in zip(kinds, minimum, strict=True):
        why = f"{len(found)} {kind}; needed: {needed}"
        checks.append((kind, len(found) >= needed, why))
    why = f"{missing:.0%} of the values are missing; up to 30% are fine"
    checks.append(("missing", missing <= 0.3, why))
    return {
        "suitable": all(good for _, good, _ in checks),
        "checks": [{"check": name, "ok": good, "reason": why} for name, good, why in checks],
        "numeric_columns": numeric[:SHOWN_COLUMNS],
        "group_columns": groups[:SHOWN_COLUMNS],
    }


def _plot(
    file: str, columns: list[dict[str, Any]], rows: list[Row], wanted: str | None
) -> str | None:
    at = _column_to_plot(columns, len(rows), wanted)
    if at is None:
        return None
    column = columns[at]
    values = [row[at].strip() for row in rows if not _is_missing(row[at])]
    if column["type"] in ("integer", "number"):
        labels, counts = _bins([float(value) for value in values])
        title = f"Distribution of {column['name']}"
    else:
        common = Counter(values).most_common(8)
        labels, counts = [value for value, _ in common], [count for _, count in common]
        title = f"Most frequent: {column['name']}"
    picture = small_chart.bars(title, labels, counts, f"{column['name']} ({len(values)} values)")
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{os.path.splitext(file)[0]}_{column['name']}")
    name = f"{stem[:70]}.png"
    os.makedirs("outputs", exist_ok=True)
    with open(os.path.join("outputs", name), "wb") as out:
        out.write(picture)
    return name


def _column_to_plot(columns: list[dict[str, Any]], rows: int, wanted: str | None) -> int | None:
    """Where the column is that says most: the wanted one, else a number that is no row's number."""
    usable = [column["type"] != "empty" and "personal" not in column for column in columns]
    filled = [at for at, good in enumerate(usable) if good]
    for at in filled:
        if wanted and columns[at]["name"].lower() == wanted.lower():
            return at

    def counts_rows(column: dict[str, Any]) -> bool:
        is_name = re.fullmatch(r"(.*[ _])?(id|index|nr|no|number)", column["name"].lower())
        return bool(is_name) or (column["type"] == "integer" and column["distinct"] == rows > 20)

    numbers = [at for at in filled if columns[at]["type"] in ("integer", "number")]
    best = [at for at in numbers if not counts_rows(columns[at])]
    groups = [at for at in filled if 1 < columns[at]["distinct"] <= max(2, rows // 2)]
    return next(iter(best or numbers or groups or filled), None)


def _bins(numbers: list[float]) -> tuple[list[str], list[int]]:
    low, high = min(numbers), max(numbers)
    if low == high:
        return [small_chart.number(low)], [len(numbers)]
    count = min(BINS, max(2, len(set(numbers))))
    width = (high - low) / count
    counts = [0] * count
    for value in numbers:
        counts[min(int((value - low) / width), count - 1)] += 1
    return [small_chart.number(low + width * edge) for edge in range(count + 1)], counts


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name[:40]}`" for name in names[:5])


def _summary(result: dict[str, Any]) -> str:
    good = result["suitability"]["suitable"]
    failed = [check["reason"] for check in result["suitability"]["checks"] if not check["ok"]]
    count = len(result["columns"]) + result["columns_not_shown"]
    verdict = "It suits the chapter." if good else f"It does not suit: {'; '.join(failed)}."
    return f"`{result['file']}` has {result['rows']} rows and {count} columns. {verdict}"


def _report(result: dict[str, Any]) -> str:
    lines = [f"Summary: {_summary(result)}", "", "## Columns", ""]
    lines += ["| column | type | missing | distinct | least | greatest | mean | examples |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for column in result["columns"]:
        cells = [column[key] for key in ("name", "type", "missing", "distinct")]
        cells += [column.get(key, "") for key in ("min", "max", "mean")]
        cells += [", ".join(column["examples"])]
        lines.append("| " + " | ".join(_in_table(cell) for cell in cells) + " |")
    lines += ["", "## Suitability", ""]
    for check in result["suitability"]["checks"]:
        lines.append(f"- {'yes' if check['ok'] else 'NO'}: {check['reason']}")
    if result["warnings"]:
        lines += ["", "## Watch out", "", *(f"- {warning}" for warning in result["warnings"])]
    if result["plot"]:
        lines += ["", f"A plot is in `{result['plot']}`."]
    return "\n".join(lines)


def _in_table(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
