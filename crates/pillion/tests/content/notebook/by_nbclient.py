"""Runs notebooks by nbclient, and says where others that ran them came to other outputs.

python by_nbclient.py SOURCES RAN NAME...

Normalised is what differs from process to process (addresses, names of the files that cells are
compiled as), and that nbclient writes down every piece of a stream as it came.
"""

import asyncio
import json
import pathlib
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

SAME = [
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    # Ids of widgets.
    (re.compile(r"[0-9a-f]{32}"), "ID"),
    (re.compile(r"[^\s'\"]*ipykernel_\d+/\d+\.py"), "CELL.py"),
    # Only on a machine that is new or slow.
    (re.compile(r"Matplotlib is building the font cache[^\n]*\n"), ""),
]


def normal(value):
    if isinstance(value, str):
        for pattern, same in SAME:
            value = pattern.sub(same, value)
        return value
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value


def overwritten(text):
    lines = text.split("\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)


def outputs(cell):
    merged = []
    for output in json.loads(json.dumps(cell.get("outputs", []))):
        last = merged[-1] if merged else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            merged.append(output)
    for output in merged:
        if output["output_type"] == "stream":
            output["text"] = overwritten(output["text"])
    return [o for o in normal(merged) if o.get("text") != "" or o["output_type"] != "stream"]


def widgets(notebook):
    """Their states, without their ids."""
    found = json.loads(json.dumps(notebook.metadata.get("widgets", {})))
    form = found.pop("application/vnd.jupyter.widget-state+json", {})
    states = form.pop("state", {}).values()
    return [found, form, sorted(json.dumps(normal(state), sort_keys=True) for state in states)]


async def compare(source, ran, turn):
    async with turn:
        ours = nbformat.read(ran, as_version=4)
        nbformat.validate(ours)
        theirs = nbformat.read(source, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            client = NotebookClient(theirs, allow_errors=True, timeout=300, record_timing=False)
            await client.async_execute(cwd=folder)
    differences = []
    if len(ours.cells) != len(theirs.cells):
        differences.append(f"{source}: {len(ours.cells)} cells, not {len(theirs.cells)}")
    if widgets(ours) != widgets(theirs):
        differences.append(f"{source.name}: widgets {widgets(ours)}, not {widgets(theirs)}")
    for at, (one, two) in enumerate(zip(ours.cells, theirs.cells)):
        for what, a, b in [
            ("source", one.source, two.source),
            ("count", one.get("execution_count"), two.get("execution_count")),
            ("outputs", outputs(one), outputs(two)),
        ]:
            if a != b:
                differences.append(
                    f"{source.name} cell {at}: {what}\n  pillion:  {json.dumps(a)[:2000]}\n"
                    f"  nbclient: {json.dumps(b)[:2000]}"
                )
    return differences


async def main(sources, ran, *names):
    turn = asyncio.Semaphore(2)
    pairs = [(pathlib.Path(sources, name), pathlib.Path(ran, name)) for name in names]
    found = await asyncio.gather(*(compare(*pair, turn) for pair in pairs))
    differences = [text for texts in found for text in texts]
    print("\n".join(differences))
    return 1 if differences else 0


sys.exit(asyncio.run(main(*sys.argv[1:])))
