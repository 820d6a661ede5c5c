"""Tell what is in a CSV file: columns, types, missing values, and whether it suits a chapter."""

from __future__ import annotations

import csv
from typing import Any

MOST_ROWS = 100_000
MISSING = {"", "-", "?", "n/a", "na", "null", "none"}


def run(file: str, minimum_rows: int = 10) -> dict[str, Any]:
    """Inspect the table in `file`."""
    try:
        with open(file, newline="", encoding="utf-8-sig") as source:
            sample = source.read(4096)
            source.seek(0)
            separator = max(",;\t|", key=sample.count)
            reader = csv.DictReader(source, delimiter=separator)
            names = list(reader.fieldnames or [])
            rows = [row for row, _ in zip(reader, range(MOST_ROWS))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        return {"error": f"cannot read `{file}`: {error}"}
    columns = [column(name, [row.get(name) or "" for row in rows]) for name in names]
    return {
        "rows": len(rows),
        "columns": columns,
        "suitability": suitability(len(rows), columns, minimum_rows),
    }


def column(name: str, values: list[str]) -> dict[str, Any]:
    """Type, missing values and examples of one column."""
    present = [value.strip() for value in values if value.strip().lower() not in MISSING]
    distinct = list(dict.fromkeys(present))
    return {
        "name": name,
        "type": kind(present),
        "missing": len(values) - len(present),
        "distinct": len(distinct),
        "examples": distinct[:3],
    }


def kind(values: list[str]) -> str:
    """The narrowest type that all values have."""
    if not values:
        return "empty"
    for name, convert in (("integer", int), ("number", float)):
        try:
            for value in values:
                convert(value)
        except ValueError:
            continue
        return name
    return "text"


def suitability(rows: int, columns: list[dict[str, Any]], minimum_rows: int) -> dict[str, Any]:
    """Whether there are enough rows, and something to group and to add."""
    numbers = [found["name"] for found in columns if found["type"] in ("integer", "number")]
    groups = [
        found["name"]
        for found in columns
        if found["type"] == "text" and 1 < found["distinct"] <= max(2, rows // 2)
    ]
    checks = [
        {"check": f"at least {minimum_rows} rows", "ok": rows >= minimum_rows, "found": rows},
        {"check": "a column of numbers", "ok": bool(numbers), "found": numbers},
        {"check": "a column of groups", "ok": bool(groups), "found": groups},
    ]
    return {"suitable": all(check["ok"] for check in checks), "checks": checks}
