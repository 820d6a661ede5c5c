"""Part of `pillion bench impact`: writes down how each test ended, and which functions of the
project tests executed, if that is asked for."""

import json
import os
import sys
import threading

import pytest

OUT = os.environ["IMPACT_OUT"]
# Only where functions are to be noted: it makes everything slower.
ROOT = os.environ.get("IMPACT_ROOT")

passed, bad, executed, imported, codes = set(), set(), set(), set(), {}
at = imported
# Whether pytest itself gave up: tests that did not run then say nothing.
broke_off = False


def profile(frame, event, _):
    if event != "call":
        return
    code = frame.f_code
    name = codes.get(code)
    if name is None:
        path = code.co_filename
        name = False
        if path.startswith(ROOT + os.sep) and not code.co_name.startswith("<"):
            qualified = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
            name = os.path.relpath(path, ROOT).replace(os.sep, "/") + ":" + qualified
        codes[code] = name
    if name:
        at.add(name)


if ROOT:
    sys.setprofile(profile)
    threading.setprofile(profile)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    global at
    at = executed
    if ROOT:
        sys.setprofile(profile)
    yield


def pytest_runtest_logreport(report):
    if report.when == "call" and report.outcome == "passed":
        passed.add(report.nodeid)
    elif report.outcome == "failed":
        bad.add(report.nodeid)


def pytest_internalerror():
    global broke_off
    broke_off = True


def pytest_sessionfinish():
    sys.setprofile(None)
    only = sorted(executed - imported)
    with open(OUT, "w", encoding="utf-8") as file:
        outcome = {"passed": sorted(passed - bad), "failed": sorted(bad), "executed": only}
        json.dump({**outcome, "broke_off": broke_off}, file)
