# Runs under `-I -S`, so no `site`, no `.pth` file and no code of the user's: the virtual
# environment is recognised here, as `site` would do it. Must run on every Python 3.
import json
import os
import site
import sys
import sysconfig

here = os.path.dirname(os.path.abspath(sys.executable))
base_prefix = sys.base_prefix
with_system = True
for folder in (here, os.path.dirname(here)):
    config = os.path.join(folder, "pyvenv.cfg")
    if os.path.isfile(config):
        sys.prefix = sys.exec_prefix = os.path.dirname(here)
        with open(config, encoding="utf-8", errors="replace") as lines:
            pairs = [line.partition("=") for line in lines]
        options = {name.strip().lower(): value.strip() for name, _, value in pairs}
        with_system = options.get("include-system-site-packages", "true").lower() == "true"
        break

# In the order of `sys.path`: the environment's own, the user's, the system's.
packages = site.getsitepackages([sys.prefix]) if sys.prefix != base_prefix else []
if with_system:
    if not os.environ.get("PYTHONNOUSERSITE"):
        packages.append(site.getusersitepackages())
    packages += site.getsitepackages([base_prefix])

print(json.dumps({
    "executable": sys.executable,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "prefix": sys.prefix,
    "base_prefix": base_prefix,
    "implementation": sys.implementation.name,
    "site_packages": list(dict.fromkeys(packages)),
    "platform": sysconfig.get_platform(),
    "cache_tag": sys.implementation.cache_tag or "",
}))
