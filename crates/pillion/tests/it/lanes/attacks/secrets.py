"""Looking for a key that is in the daemon's environment, wherever we can look."""

import re

# Written so that the pattern is no match of itself.
KEY = re.compile(rb"s[k]-it-[0-9a-f]{32}")
NAME = re.compile(rb"PILLION_IT_API_[K]EY")


def search(data):
    found = KEY.search(data) or NAME.search(data)
    return found and found.group().decode()


def search_file(path):
    with open(path, "rb") as file:
        return search(file.read(1 << 20))


def own_memory():
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[:2] for line in maps]
    with open("/proc/self/mem", "rb", 0) as memory:
        for where, rights in ranges:
            start, end = (int(part, 16) for part in where.split("-"))
            if "r" not in rights or end - start > 1 << 28:
                continue
            for at in range(start, end, 1 << 20):
                try:
                    memory.seek(at)
                    found = search(memory.read(min(1 << 20, end - at)))
                except (OSError, ValueError, OverflowError):
                    break
                if found:
                    return found
    return None


def other_memory(pid):
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        return f"opened the memory of {pid}: {memory}"


attempt("environ", search, repr(dict(os.environb)).encode())
attempt("own memory", own_memory)
pids = {name for name in os.listdir("/proc") if name.isdecimal()} if boxed else set()
for pid in sorted(pids | {"self", "1", "2", given["daemon"], str(os.getppid())}):
    for name in ["environ", "cmdline", "auxv", "stack", "syscall", "maps", "smaps"]:
        attempt(f"{pid} {name}", search_file, f"/proc/{pid}/{name}")
    if pid not in ("self", str(os.getpid())):
        attempt(f"{pid} environ at all", lambda pid: open(f"/proc/{pid}/environ", "rb").read(), pid)
        attempt(f"{pid} memory", other_memory, pid)
        attempt(f"{pid} descriptors", os.listdir, f"/proc/{pid}/fd")
        attempt(f"{pid} folder", os.listdir, f"/proc/{pid}/cwd/")
        attempt(f"{pid} program", os.readlink, f"/proc/{pid}/exe")
for folder in ["/", "/lane", "/etc", "/tmp", "/dev/shm", "."]:
    for root, _, names in os.walk(folder):
        if root.startswith(("/proc", "/usr", "/lib", sys.prefix, sys.base_prefix)):
            continue
        for name in names[:200]:
            path = os.path.join(root, name)
            if os.path.isfile(path):
                attempt(path, search_file, path)
done()
