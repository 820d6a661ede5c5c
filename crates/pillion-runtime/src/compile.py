# Compiles every module below a folder for the Python that runs this. Must run on every Python 3
# that pillion supports. What cannot be written whole is not written at all.
import importlib._bootstrap_external as external
import importlib.util
import os
import sys

for folder, _, names in os.walk(sys.argv[1]):
    for name in sorted(names):
        if not name.endswith(".py"):
            continue
        source = os.path.join(folder, name)
        found = os.stat(source)
        with open(source, "rb") as file:
            code = compile(file.read(), source, "exec", dont_inherit=True)
        data = external._code_to_timestamp_pyc(code, int(found.st_mtime), found.st_size)
        target = importlib.util.cache_from_source(source, optimization="")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        temporary = "%s.%d.tmp" % (target, os.getpid())
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            os.replace(temporary, target)
        except BaseException:
            try:
                os.unlink(temporary)
            except OSError:
                pass
            raise
