"""A program in a lane prints, fails and ends as with `python main.py`, warm and cold."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from lanes import FOLDER, Zygote, run_cold

PROGRAMS = {
    "print": "print(1, 'é', '\\U0001f600', sep='-')",
    "nothing": "",
    "exit with a number": "import sys; print('a'); sys.exit(3)",
    "exit with text": "import sys; sys.exit('so long')",
    "exit with nothing": "raise SystemExit",
    "exit with a large number": "raise SystemExit(256 + 7)",
    "exit with none below zero": "raise SystemExit(-1)",
    "exit()": "print('a'); exit(4)",
    "quit()": "quit()",
    "division": "def f(x):\n    return 1 / x\n\nf(0)\n",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n",
    "in context": "try:\n    {}['a']\nexcept KeyError:\n    1 / 0\n",
    "syntax": "x = (1,\nprint('a'",
    "indentation": "def f():\nreturn 1\n",
    "group": """
        if hasattr(__builtins__, 'ExceptionGroup'):
            raise ExceptionGroup('all', [ValueError(1), KeyError(2)])
        """,
    "recursion ends": """
        import sys
        def f(n): return f(n + 1)
        try:
            f(0)
        except RecursionError as error:
            print(type(error).__name__)
        """,
    "main": """
        if __name__ == "__main__":
            print(__name__, __doc__, __spec__, __package__)
            print(sorted(name for name in dir() if name != "__file__"))
        """,
    "annotations": "x: int = 1\nprint(x)",
    "argv": "import sys; print(sys.argv[1:])",
    "input": "name = input('who? ')\nprint('hello', name)\nprint(open(0).read())",
    "input at the end": "input()\ninput()\ninput()",
    "stdin": "import sys\nfor line in sys.stdin: print(repr(line))",
    "names of streams": "import sys; print(sys.stdin.name, sys.stdout.name, sys.stderr.mode)",
    "stderr": "import sys; print('oops', file=sys.stderr); sys.stderr.write('half')",
    "bytes": "import sys; sys.stdout.buffer.write(b'\\xff\\n')",
    "unencodable on stderr": "import sys; print('\\ud800', file=sys.stderr)",
    "warning": "import warnings; warnings.warn('careful')",
    "deprecated in main": "import warnings; warnings.warn('old', DeprecationWarning)",
    "hook": """
        import sys
        sys.excepthook = lambda kind, error, trace: print("mine", kind.__name__, error)
        1 / 0
        """,
    "hook that fails": """
        import sys
        def hook(kind, error, trace):
            raise ValueError("no")
        sys.excepthook = hook
        1 / 0
        """,
    "atexit": "import atexit; atexit.register(print, 'bye'); print('a')",
    "atexit after an exception": "import atexit; atexit.register(print, 'bye'); 1 / 0",
    "thread": """
        import threading, time
        def work():
            time.sleep(0.05)
            print("done")
        threading.Thread(target=work).start()
        print("main ends")
        """,
    "thread that fails": """
        import threading
        def work(): raise KeyError("x")
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        """,
    "daemon thread": """
        import threading, time
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        print("main ends")
        """,
    "del at the end": """
        class Thing:
            def __init__(self, name): self.name = name
            def __del__(self): print("gone", self.name)
        a = Thing("a")
        print("end")
        """,
    "file left open": """
        import os, subprocess, sys
        f = open("left.txt", "w")
        f.write("kept")
        def g(): return f
        class Check:
            pass
        import atexit
        """,
    "pickle of a class in main": """
        import pickle
        class Point:
            def __init__(self, x): self.x = x
        print(pickle.loads(pickle.dumps(Point(3))).x)
        """,
    "multiprocessing": """
        import multiprocessing
        def square(x): return x * x
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            queue = context.SimpleQueue()
            child = context.Process(target=lambda: queue.put(square(7)))
            child.start()
            print(queue.get())
            child.join()
            print(child.exitcode)
        """,
    "fork that falls off the end": """
        import atexit, os, sys
        atexit.register(lambda: print("bye", flush=True))
        if os.fork() == 0:
            print("child", flush=True)
        else:
            os.wait()
            print("parent", flush=True)
        """,
    "subprocess": """
        import subprocess, sys
        done = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True)
        print(done.stdout)
        """,
    "inspect": """
        import inspect
        def f():
            return 1  # one
        print(inspect.getsource(f))
        """,
    "dataclass": """
        from __future__ import annotations
        from dataclasses import dataclass
        @dataclass
        class A:
            x: int = 3
        print(A())
        """,
    "asyncio": """
        import asyncio
        async def main():
            await asyncio.sleep(0)
            return "slept"
        print(asyncio.run(main()))
        """,
    "os._exit": "import os; print('a', flush=True); os._exit(9)",
    "abort": "import os; os.abort()",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "closed stdout": "import sys; print('a'); sys.stdout.close()",
    "no stdout": "import sys; sys.stdout = None; print('a')",
    "replaced stdout": "import sys, io; print('a'); sys.stdout = io.StringIO(); print('b')",
    "module of its own": "import helper; print(helper.NAME, helper.__file__.endswith('helper.py'))",
    "error in a module": "import helper; helper.fail()",
    "printf in C": "import ctypes; ctypes.CDLL(None).printf(b'from C\\n')",
}
HELPER = b"NAME = 'helper'\n\ndef fail():\n    raise RuntimeError('in helper')\n"
STDIN = b"Ada\nLovelace\n"


@pytest.fixture(scope="module")
def zygote():
    made = Zygote(python=sys.executable, landlock=None)
    yield made
    made.close()


def compare(name: str, done, real, *folders) -> None:
    shown, got = [
        [text.replace(str(folder), FOLDER) for text in texts]
        for folder, texts in zip(
            folders, ([real.stdout, real.stderr], [done.out, done.err]), strict=True
        )
    ]
    assert got == shown, name
    code = done.exit if done.exit is not None else -done.signal
    assert code == real.returncode, name


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_runs_as_python_runs_it(zygote, tmp_path, name):
    source = textwrap.dedent(PROGRAMS[name]).lstrip("\n")
    folder, cold_folder = tmp_path / "real", tmp_path / "cold"
    files = {"main.py": source.encode(), "helper.py": HELPER}
    for place in (folder, cold_folder):
        place.mkdir()
    for file, data in files.items():
        (folder / file).write_bytes(data)
    argv = [sys.executable, "-B", "-X", "utf8", "main.py", "a", "b c"]
    real = subprocess.run(
        argv,
        cwd=folder,
        input=STDIN.decode(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    order = {"files": files, "args": ["a", "b c"], "stdin": STDIN}
    outputs = {"outputs": ["left.txt"]} if name == "file left open" else {}
    warm = zygote.run({"file": "main.py"}, **order, **outputs)
    compare(name, warm, real, folder, FOLDER)
    cold = run_cold({"file": "main.py"}, cold_folder, **order).done()
    compare(name, cold, real, folder, cold_folder)
    if outputs:
        assert warm.outputs == {"left.txt": b"kept"}
        assert (cold_folder / "left.txt").read_text() == "kept"


def test_code_shows_its_lines_in_tracebacks(zygote, tmp_path):
    code = "def f():\n    return 1 / 0\n\nf()\n"
    for done in (zygote.run(code), run_cold(code, tmp_path).done()):
        assert done.exit == 1
        assert done.err.startswith('Traceback (most recent call last):\n  File "<expert>", line 4')
        assert "    return 1 / 0\n" in done.err
        assert "pillion" not in done.err
        error = {"type": "ZeroDivisionError", "message": "division by zero", "limit": None}
        assert done.result == {"exception": error}


def test_code_has_source_for_inspect(zygote, tmp_path):
    code = "import inspect\ndef f():\n    return 7  # seven\nprint(inspect.getsource(f))"
    for done in (zygote.run(code), run_cold(code, tmp_path).done()):
        assert "return 7  # seven" in done.out, done.err


def test_a_module_runs_as_python_m(zygote, tmp_path):
    files = {
        "pkg/__init__.py": b"",
        "pkg/__main__.py": b"import sys\nfrom . import x\nprint(__name__, __package__, x.X)\n"
        b"print(sys.argv[1:], sys.argv[0].endswith('__main__.py'))\nsys.exit(5)\n",
        "pkg/x.py": b"X = 1\n",
    }
    for done in (
        zygote.run({"module": "pkg"}, files=files, args=["q"]),
        run_cold({"module": "pkg"}, tmp_path, files=files, args=["q"]).done(),
    ):
        assert done.out == "__main__ pkg 1\n['q'] True\n", done.err
        assert done.exit == 5
        assert done.result == {"exception": None}
    missing = zygote.run({"module": "nosuch"})
    assert missing.err.endswith("No module named nosuch\n")
    assert missing.exit == 1


def test_a_file_that_is_not_there(zygote):
    done = zygote.run({"file": "nosuch.py"})
    assert done.exit == 2
    assert done.err.endswith(
        "can't open file '/mnt/nosuch.py': [Errno 2] No such file or directory\n"
    )


def test_ctrl_c_is_130(zygote):
    done = zygote.run("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass")
    assert done.exit == 130
    assert done.result["exception"]["type"] == "KeyboardInterrupt"


def test_streams_take_any_text(zygote):
    done = zygote.run("print('\\ud800', '\\xe9')")
    assert done.out == "\\ud800 \xe9\n"


def test_output_that_cannot_be_written(zygote):
    done = zygote.run("import os, sys\nos.close(1)\nsys.stdout.write('x')")
    assert done.exit == 120
