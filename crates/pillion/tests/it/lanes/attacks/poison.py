"""Break everything in this interpreter, and leave without a word."""

import atexit
import builtins
import gc
import random
import signal
import tempfile

sys.modules["poison"] = sys
sys.modules["json"] = sys
sys.path.insert(0, "/poison")
sys.meta_path.clear()
sys.stdout = None
sys.excepthook = sys.unraisablehook = lambda *_: None
os.environ["POISON"] = "1"
os.environ["PYTHONPATH"] = "/poison"
os.umask(0)
gc.disable()
random.seed(7)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
atexit.register(print, "ESCAPED at exit")
str.__module__  # touched, as programs do
sys.setrecursionlimit(99)
for folder in [tempfile.gettempdir(), "/dev/shm", "/tmp"]:
    try:
        open(f"{folder}/poison", "w").write("poison")
    except OSError:
        continue
if os.fork() == 0:
    while True:
        signal.pause()
builtins.open = builtins.len = builtins.print = builtins.__import__ = lambda *_, **__: 0
os._exit(7)
