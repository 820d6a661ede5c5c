"""A slot: one confined process that waits for one order, and the init that watches over it.

The zygote forks S; S enters new namespaces, forks the init (PID 1 of the new pid namespace) and
ends. The init makes the mounts with the zygote's capabilities, forks the payload and tells the
daemon when that is confined. The order of the payload's steps matters: each needs what a later
one takes away.
"""

from __future__ import annotations

import _signal
import binascii
import gc
import os
import signal

from pillion.lane import confine, limits, messages, program, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, NoReturn

# Not the network's: the zygote's own is empty already, or meant to be used, and one more for
# every slot costs more than everything else about it.
_NAMESPACES = confine.CLONE_NEWPID | confine.CLONE_NEWNS | confine.CLONE_NEWIPC
_READY = b"ready"
# All that can be; looked up once, because each page that an init touches is a page of its own.
_IGNORED = sorted(
    int(number)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
)
_MAX_TEXT = 4096


class Plan:
    """What all slots of a zygote have in common, parsed once."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self.uid: int = setup["uid"]
        self.gid: int = setup["gid"]
        self.mounts: list[dict[str, Any]] = setup.get("mounts") or []
        self.hide: list[str] = setup.get("hide") or []
        self.landlock: dict[str, Any] | None = setup.get("landlock")
        self.filters = [
            confine.make_filter(binascii.a2b_base64(text)) for text in setup.get("filters") or []
        ]
        self.rlimits: list[list[int]] = setup.get("rlimits") or []
        self.nice: int = setup.get("nice") or 0
        self.oom_score_adj: int | None = setup.get("oom_score_adj")


def start(plan: Plan, request: dict[str, Any], descriptors: list[int]) -> socket | None:
    """Fork a slot. Returns None in the zygote, and in the payload the socket its order comes on."""
    if len(descriptors) != 2:  # a slot without its two sockets can tell nobody
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    ctl, run = (_unix_socket(descriptor) for descriptor in descriptors)
    try:
        forked = os.fork()
    except OSError as error:
        _tell_failure(ctl, f"fork: {error}")
        forked = -1
    if forked == 0:
        return _slot(plan, request, ctl, run)
    ctl.close()
    run.close()
    return None


def _unix_socket(descriptor: int) -> socket:
    import _socket

    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=descriptor)


def _slot(plan: Plan, request: dict[str, Any], ctl: socket, run: socket) -> socket:
    """In S, then in the init, then in the payload; only the payload returns."""
    try:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        confine.unshare(_NAMESPACES, "unshare namespaces")
        if os.fork():
            os._exit(0)
    except BaseException as error:
        _tell_failure(ctl, str(error))
        os._exit(1)
    try:
        gc.disable()  # the init is small, and a collection would touch every shared page
        # Numbers 0 to 2 stay taken, so that nothing becomes a standard stream by chance.
        for number in range(3):
            os.dup2(plan.null, number, inheritable=False)
        confine.close_all_but(0, 1, 2, ctl.fileno(), run.fileno())
        # What is mounted here stays here.
        confine.mount("make mounts private", "none", "/", None, confine.MS_REC | confine.MS_PRIVATE)
        confine.mount_all(request.get("mounts") or plan.mounts)
        confine.hide(plan.hide)
        os.chdir("/")  # a working directory would lead around what was just hidden
        ruleset = None if plan.landlock is None else confine.make_ruleset(plan.landlock)
        told, tell = os.pipe()
        payload = os.fork()
        if payload == 0:
            os.close(told)
            ctl.detach()  # closed below, with everything else
            _become_payload(plan, run, ruleset, tell, waits=not request.get("at_once"))
            return run
        os.close(tell)
        run.close()
        if ruleset is not None:
            os.close(ruleset)
        _become_init(payload, told)
        own = os.pidfd_open(os.getpid())
        messages.send(ctl, {"ready": request["slot"]}, (own,))
        os.close(own)
    except BaseException as error:
        _tell_failure(ctl, str(error) or type(error).__name__)
        os._exit(1)
    return _watch(payload, ctl)


def _watch(payload: int, ctl: socket) -> NoReturn:
    code = 1
    try:
        code = watch.Watcher(payload, ctl).run()
    finally:
        # Whatever happened: with PID 1 everything in the namespace ends.
        os._exit(code)


def _tell_failure(ctl: socket, text: str) -> None:
    try:
        messages.send(ctl, {"failed": text[:_MAX_TEXT]})
    except OSError:
        pass  # nobody listens: the daemon sees the socket's end


def _become_init(payload: int, told: int) -> None:
    """Be deaf and opaque to the payload, and wait until it is confined."""
    confine.prctl("hide the init", confine.PR_SET_DUMPABLE, 0)
    for number in _IGNORED:
        _signal.signal(number, _signal.SIG_IGN)
    text = b""
    while part := os.read(told, _MAX_TEXT):
        text += part
    os.close(told)
    if text != _READY:
        _, status = os.waitpid(payload, 0)
        raise OSError(text.decode("utf-8", "replace") or f"the payload ended with status {status}")


def _become_payload(
    plan: Plan, run: socket, ruleset: int | None, tell: int, *, waits: bool
) -> None:
    try:
        _confine(plan, run, ruleset, tell)
        gc.enable()
        if waits:  # for an order that is there already, it would only come later
            program.rehearse()
    except BaseException as error:
        os.write(tell, (str(error) or type(error).__name__).encode()[:_MAX_TEXT])
        os._exit(1)
    os.write(tell, _READY)
    os.close(tell)


def _confine(plan: Plan, run: socket, ruleset: int | None, tell: int) -> None:
    os.setsid()
    os.umask(0o077)
    # The files in /proc/self belong to us only while we may be looked at.
    confine.prctl("be dumpable", confine.PR_SET_DUMPABLE, 1)
    if plan.oom_score_adj is not None:
        confine.write_proc("oom_score_adj", str(plan.oom_score_adj))
    confine.map_ids(plan.uid, plan.gid)
    confine.drop_capabilities()
    # A change of ids or capabilities takes both of these back.
    confine.prctl("be dumpable", confine.PR_SET_DUMPABLE, 1)
    confine.prctl("set the death signal", confine.PR_SET_PDEATHSIG, _signal.SIGKILL)
    confine.no_new_privileges()
    for number, soft, hard in plan.rlimits:
        limits.lower(number, soft, hard)
    if ruleset is not None:
        confine.restrict(ruleset)
    if plan.nice:
        os.nice(plan.nice)  # late: nobody should wait for a slot because it is nice
    confine.close_all_but(0, 1, 2, run.fileno(), tell)
    for made in plan.filters:
        confine.apply_filter(made)
