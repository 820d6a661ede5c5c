"""A real JupyterLab whose kernels are pillion's, in a real Chromium.

`python jupyter_lab.py PORT TOKEN FOLDER MODULES CHROMIUM` starts it in FOLDER, where
`written.ipynb` is what `pillion notebook run` made, and has `jupyter_lab.mjs` look at that file
and run another one in the page. What the page saved is checked here, by nbformat.
"""

import asyncio
import base64
import sys
from pathlib import Path

import nbformat
from jupyter_server import running

CELLS = [
    "import os\nprint('printed in', os.getcwd())",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()",
    "name = input('who? ')\nprint('hello', name)",
    "1 / 0",
]
# It would look for news and for extensions elsewhere.
OPTIONS = [
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
    # Whether a notebook has its kernel is asked of its own objects.
    "--LabApp.expose_app_in_browser=True",
]


def write(path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    notebook.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(notebook, path)


def check(path):
    """What the page saved is a notebook that holds what the page showed."""
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells] == CELLS, notebook
    assert [cell.execution_count for cell in notebook.cells] == [1, 2, 3, 4], notebook
    printed, plotted, asked, raised = (cell.outputs for cell in notebook.cells)
    assert [o.text for o in printed] == ["printed in /lane/work\n"], printed
    pictures = [o.data["image/png"] for o in plotted if o.output_type == "display_data"]
    assert [base64.b64decode(p)[:4] for p in pictures] == [b"\x89PNG"], plotted
    assert "hello Ada\n" in "".join(o.text for o in asked), asked
    assert [o.ename for o in raised] == ["ZeroDivisionError"], raised


async def person(server, folder, modules, chromium):
    """What happens in the page."""
    script = Path(__file__).with_suffix(".mjs")
    node = Path(modules) / "node"
    profile = Path(folder) / "chromium"
    profile.mkdir()
    process = await asyncio.create_subprocess_exec(
        node, script, modules, chromium, server.url, server.token, profile
    )
    assert await process.wait() == 0, "the page is not as told"


async def main():
    port, token, folder, modules, chromium = sys.argv[1:]
    path = Path(folder) / "run.ipynb"
    write(path)
    async with running(port, token, folder, "jupyterlab", OPTIONS) as server:
        await person(server, folder, modules, chromium)
        check(path)
        for session in (await server.ask("GET", "/api/sessions"))[1]:
            await server.ask("DELETE", f"/api/sessions/{session['id']}")
    print("as told")


if __name__ == "__main__":
    asyncio.run(main())
