"""Is there anything left of the run before?"""

import builtins
import gc
import random
import signal
import tempfile

attempt("module", lambda: "poison" in sys.modules)
attempt("module json", lambda: sys.modules.get("json") is sys)
attempt("path", lambda: "/poison" in sys.path)
attempt("finders", lambda: not sys.meta_path)
attempt("environment", lambda: {"POISON", "PYTHONPATH"} & set(os.environ))
attempt("umask", lambda: os.umask(0o77) == 0)
attempt("collector", lambda: not gc.isenabled())
attempt("handler", lambda: signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
attempt("recursion", lambda: sys.getrecursionlimit() < 1000)
attempt("randomness", lambda: random.random() == random.Random(7).random())
attempt(
    "builtins",
    lambda: [
        n for n in ("open", "len", "__import__") if not isinstance(getattr(builtins, n), type(len))
    ],
)
for folder in [tempfile.gettempdir(), "/dev/shm", "/tmp"]:
    attempt(f"file in {folder}", os.path.exists, f"{folder}/poison")
attempt(
    "processes",
    lambda: [p for p in os.listdir("/proc") if p.isdecimal() and p not in ("1", str(os.getpid()))],
)
done()
