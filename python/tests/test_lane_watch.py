"""What a slot's init watches while a payload runs: memory, processes, the disk."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from lanes import BOX, DEADLINE, FOLDER, NOBODY, PYTHON_DIR, Zygote, usable_python, users


@pytest.fixture(scope="module", params=users())
def zygote(request):
    made = Zygote(request.param)
    yield made
    made.close()


def test_memory_is_watched(zygote):
    code = "print(1, flush=True)\nx = bytearray(200 << 20)\nwhile True: pass"
    done = zygote.run(code, watch={"memory": 100 << 20})
    assert (done.killed, done.signal, done.exit) == ("memory", signal.SIGKILL, None)
    assert done.report["peak_bytes"] > 100 << 20
    assert done.result is None


def test_memory_of_children_is_watched(zygote):
    code = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(60 << 20)
        time.sleep(1000)
time.sleep(1000)
"""
    done = zygote.run(code, watch={"memory": 150 << 20})
    assert done.killed == "memory"
    assert done.report["processes"] >= 2


def test_memory_is_seen_when_the_first_thread_is_gone(zygote):
    number = 60 if os.uname().machine == "x86_64" else 93
    code = f"""
import ctypes, threading, time
def hoard():
    time.sleep(0.1)
    global x
    x = bytearray(200 << 20)
    time.sleep(1000)
threading.Thread(target=hoard).start()
libc = ctypes.PyDLL(None)
save = libc.PyEval_SaveThread
save.restype = ctypes.c_void_p
# The first thread ends alone, without the interpreter's lock.
ctypes.CDLL(None).syscall({number}, 0)
"""
    done = zygote.run(code, watch={"memory": 100 << 20})
    assert done.killed == "memory"


def test_processes_are_watched(zygote):
    code = "import os, time\nfor _ in range(40): os.fork() or time.sleep(1000)\ntime.sleep(1000)"
    done = zygote.run(code, watch={"processes": 20})
    assert done.killed == "processes"
    assert done.report["processes"] > 20


def test_threads_count_as_processes(zygote):
    code = """
import threading, time
for _ in range(40): threading.Thread(target=time.sleep, args=(1000,)).start()
"""
    assert zygote.run(code, watch={"processes": 20}).killed == "processes"


def test_a_fork_bomb_ends(zygote):
    # Fast, but with an end of its own: root's processes have no limit that could be set here.
    code = "import os, time\nfor _ in range(10): os.fork()\ntime.sleep(1000)"
    done = zygote.run(code, watch={"processes": 50})
    assert done.killed == "processes"


def test_processes_that_nobody_waits_for_are_counted_and_reaped(zygote):
    code = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        until = time.process_time() + 0.2
        while time.process_time() < until: pass
        os._exit(0)
time.sleep(1)
"""
    done = zygote.run(code)
    assert done.exit == 0
    assert done.report["cpu_ms"] > 100


def disk_of(size):
    """A folder that is empty, on a file system of which nothing is known before."""
    return {
        "path": FOLDER,
        "bytes": size,
        "files": 1000,
        "used": 0,
        "named": 0,
        "left": [0, 0],
        "sends": False,
    }


def test_the_disk_is_watched(zygote):
    slot = {"mounts": [{"kind": "proc", "at": "/proc"}, {"kind": "tmpfs", "at": FOLDER}]}
    code = """
import os, time
os.makedirs("a/b")
f = open("a/b/big", "wb")
f.write(bytes(3 << 20))
f.flush()
{more}
time.sleep(1000)
"""
    for more in ("", "os.unlink('a/b/big')", "os.chmod('a', 0)"):
        made = zygote.slot(**slot)
        watch = {"disk": disk_of(2 << 20)}
        done = made.order(code.format(more=more), watch=watch).done()
        assert done.killed == "disk", more


def test_within_its_limits_nothing_is_killed(zygote):
    code = """
import time
x = bytearray(20 << 20)
open("f", "wb").write(bytes(1 << 20))
time.sleep(0.3)
"""
    limits = {"memory": 200 << 20, "processes": 20, "disk": disk_of(2 << 20)}
    done = zygote.run(code, watch=limits, every_ms=5)
    assert (done.exit, done.killed) == (0, None)
    assert done.report["peak_bytes"] > 20 << 20
    assert done.report["processes"] == 1


def test_a_full_folder_and_a_spent_cpu(zygote):
    done = zygote.run("open('big', 'wb').write(bytes(16 << 20))")
    assert done.result["exception"]["limit"] == "disk"
    done = zygote.run("while True: pass", rlimits=[[0, 1, 1]])
    assert done.signal in (signal.SIGKILL, signal.SIGXCPU)


def test_an_init_that_is_blinded_ends_the_run(zygote):
    """Nothing here filters `prlimit`, as pillion's own filter does."""
    code = """
import resource, time
print(1, flush=True)
resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))
time.sleep(1000)
"""
    slot = zygote.slot()
    run = slot.order(code, watch={"memory": 1 << 30})
    assert slot.ctl.recv(1) == b"", "no report"
    slot.wait_gone()
    assert run.message() is None
    assert (run.out.text(), run.err.text()) == ("1\n", "")
    run.result.close()


# A namespace's init holds everybody again and again, while a program forks as often as it can.
# Much memory makes each fork take long, so that many are going on when everybody is stopped.
HOLDS = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pillion.lane import watch

asleep, falls_asleep = os.pipe()
payload = os.fork()
if payload == 0:
    memory = bytearray(os.urandom(1 << 20) * 150)
    if sys.argv[2] == "beside":
        sleeper = os.fork()
        if sleeper == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            print("woken", flush=True)
            os._exit(0)
        os.waitpid(sleeper, os.WUNTRACED)
    os.write(falls_asleep, b".")
    for _ in range(100):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    print("done", flush=True)
    os._exit(0)
watcher = watch.Watcher(payload, None)
# Whoever is stopped twice, by himself and by somebody else, is woken by the first who wakes him.
os.read(asleep, 1)
while watcher.status is None:
    watcher._hold(lambda names: None)
    watcher._reap()
os._exit(0)
"""


@pytest.mark.parametrize("user", users())
@pytest.mark.parametrize("sleeper", ["alone", "beside"])
def test_who_is_made_while_all_are_stopped_goes_on(user, sleeper):
    argv = [*(NOBODY if user == "nobody" else []), *BOX, usable_python(user), "-I", "-S", "-B"]
    argv += ["-c", HOLDS, str(PYTHON_DIR), sleeper]
    # Whoever is asleep by his own wish stays so, and goes with the namespace.
    ran = subprocess.run(argv, capture_output=True, text=True, cwd="/", timeout=3 * DEADLINE)
    assert (ran.stdout, ran.returncode) == ("done\n", 0), ran
