#!/usr/bin/env python3
"""Ask pillion from Python or a terminal: one file, standard library only, Python 3.8 or newer.

As a module: `from pillion_client import Client; Client(root=".").defs("a.py", 3, 5)`.
As a command: `python3 pillion_client.py defs a.py 3 5`; `--help` lists the others.
It finds the daemon of this user or starts it, just as `pillion` does, or asks a
`pillion serve` at `PILLION_URL`. Relative paths are meant from the current folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from http.client import HTTPException
from typing import Any, Callable, Dict

__version__ = "0.1.0"
Json = Dict[str, Any]
# Seconds: for a ping, for a start, the same where uvx fetches pillion first, for an end.
PING, START, FETCH, GONE = 5.0, 20.0, 180.0, 6.0
MAX_SOCKET_PATH, MAX_BODY, PEERCRED = 108, 100 << 20, getattr(socket, "SO_PEERCRED", None)

# Each command: its parameters and help; its operation is `code.COMMAND` unless it is named. A
# parameter is `name:type`, an option `--name:type`, a flag `--name`; `?` is optional, `*` a list.
SPAN, RENAMED = "start_line:int end_line:int", {"at": "positions", "kind": "kinds"}
PLACE, PATCH = "file? line:int? col:int? --at:spot*", "--output-format:str --apply"
TABLE = """
at | PLACE --limit:int | Tell everything about the name at a position
defs | PLACE | Find where a name is defined
refs | PLACE --limit:int --include-declaration:json | Find where a name is used
hover | PLACE | Tell what a name is
occurrences | PLACE --limit:int | List what a rename would touch
implementations | PLACE --limit:int | Find what implements or overrides a name
callers | PLACE --limit:int | Find who calls a function
callees | PLACE --limit:int | Find what a function calls
type-hierarchy | PLACE --limit:int | Show the bases and subclasses of a class
list | path? -r/--recursive --depth:int --limit:int | List what a file or folder defines
symbols | query --kind:str* --limit:int | Find definitions by a part of their name
read-symbol | name_path path? --limit:int | Read the source of a definition
grep | pattern path? -e/--regex -i/--ignore-case -C/--context:int -m/--max:int | Search text
diagnostics | path? --limit:int | List what is wrong in a file or folder
rename | file line:int col:int new_name PATCH | Rename a symbol
extract-method | file SPAN method_name PATCH | Make lines a method
extract-var | file SPAN var_name --start-col:int --end-col:int PATCH | Make a variable of it
move | file line:int? col:int? dest_file PATCH | Move a symbol, or a module without LINE and COL
organize-imports | path PATCH | Sort and clean imports
codemod | rule path? --apply | Rewrite code by the rules in a file
call=py.call | function params:json? --stream --idempotent --python:str --path:str* | Call Python
status=system.status | | Show the daemon, its workspaces and their sidecars
stop=system.shutdown | | Stop the daemon; running requests finish
"""
COMMANDS = {}
for row in TABLE.strip().splitlines():
    head, words, about = (cell.strip() for cell in row.split("|"))
    words = words.replace("PLACE", PLACE).replace("PATCH", PATCH).replace("SPAN", SPAN)
    name, _, operation = head.partition("=")
    COMMANDS[name] = (operation or "code." + name.replace("-", "_"), words, about)
READS = {operation for operation, _, _ in COMMANDS.values() if operation.startswith("code.")}
READS |= {f"system.{verb}" for verb in ("ping", "version", "status", "stats", "health")}


class PillionError(Exception):
    """What went wrong, as on every door: `error` has code, kind, message, hint and more."""

    def __init__(self, error: Json) -> None:
        super().__init__(error.get("message"))
        self.error, self.code, self.hint = error, error.get("code"), error.get("hint")


class AbsentError(PillionError):
    """Nobody listens: starting a daemon would help."""


class BrokenError(Exception):
    """The connection ended before the answer. With a reason, the request was not begun."""


def fail(code: str, message: str, hint: str, kind: str = "environment") -> PillionError:
    """Make an error that has its origin here."""
    error = {"code": code, "kind": kind, "message": message, "hint": hint, "recoverable": True}
    return PillionError(error)


def may_repeat(operation: str, params: Json) -> bool:
    """Whether asking twice does no harm, so that a broken connection is tried once more."""
    return bool(params.get("idempotent")) or (operation in READS and not params.get("apply"))


def localise(operation: str, params: Json, here: str) -> Json:
    """Make paths absolute: what the caller means by them, the daemon cannot know."""
    params = dict(params)
    if operation.startswith("code."):
        for name in {"root", "file", "path", "dest_file"} & params.keys():
            params[name] = os.path.join(here, params[name])
        spots = [{**p, "file": os.path.join(here, p["file"])} for p in params.get("positions", [])]
        return {**params, **({"positions": spots} if spots else {}), "near": here}
    if operation not in ("py.call", "py.describe", "sidecar.call"):
        return params
    params["root"] = os.path.join(here, params["root"]) if params.get("root") else here
    path = [os.path.join(here, folder) for folder in params.pop("path", [])]
    python = os.path.join(here, params.get("python") or "")
    # A bare name or a version is looked up; anything else is a path from here.
    if params.get("python") and (os.sep in params["python"] or os.path.isdir(python)):
        params["python"] = python
    # As with `python -m`: a module in the folder where one stands can be called.
    top = os.path.join(here, re.split("[.:]", params.get("function", params.get("module", "")))[0])
    if os.path.isfile(top + ".py") or (os.path.isdir(top) and not top.endswith(os.sep)):
        path.append(here)
    return {**params, "path": path} if path else params


def fnv(text: str) -> str:
    """Hash a name as the daemon does: FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in os.fsencode(text):
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def socket_path(explicit: str | None, instance: str | None, env: Any, uid: int) -> str:
    """Tell where the daemon listens, by the same rules as `pillion socket-path`."""
    if explicit or env.get("PILLION_SOCKET"):
        return explicit or env["PILLION_SOCKET"]
    name = (env.get("PILLION_INSTANCE") or "daemon") if instance is None else instance
    name = name if re.fullmatch(r"(?!\.)[A-Za-z0-9._-]{0,40}", name) else "i-" + fnv(name)
    own, xdg, run = f"pillion-{uid}", env.get("XDG_RUNTIME_DIR"), f"/run/user/{uid}"
    ours = os.path.isdir(run) and (os.stat(run).st_uid, os.stat(run).st_mode & 0o77) == (uid, 0)
    folder = (xdg or run, "pillion") if xdg or ours else (env.get("TMPDIR") or "/tmp", own)
    path = os.path.join(*folder, name + ".sock")
    return path if len(os.fsencode(path)) < MAX_SOCKET_PATH else f"/tmp/{own}/{fnv(path)}.sock"


def find_program() -> tuple[list[str], float]:
    """Find what to run as `pillion`, and how long its start may take."""
    named = os.environ.get("PILLION_BIN")
    found, uvx = shutil.which(named or "pillion"), shutil.which("uvx")
    if found or (uvx and not named):
        return ([os.path.abspath(found)], START) if found else ([str(uvx), "pillion"], FETCH)
    hint = "install pillion, or set `PILLION_BIN` to the path of its program"
    raise fail("start_failed", f"there is no program `{named or 'pillion'}` to start", hint)


def read_frame(stream: Any) -> Json:
    """Read one `Content-Length` frame."""
    length, line = 0, b"-"
    while line.strip():
        line = stream.readline(8192)
        if not line.endswith(b"\n"):
            raise BrokenError
        name, _, value = line.partition(b":")
        length = int(value) if name.strip().lower() == b"content-length" else length
    body = stream.read(length) if 0 < length <= MAX_BODY else b""
    if not body or len(body) < length:
        raise BrokenError
    return json.loads(body)


def exchange(connection: Any, operation: str, params: Json, tell: Any, limit: Any) -> Any:
    """Send one request and wait for its answer; `tell` gets the parts of a stream."""
    request, answer = {"jsonrpc": "2.0", "method": operation, "params": params, "id": 1}, {}
    body = json.dumps(request).encode()
    try:
        connection.settimeout(limit)
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        with connection.makefile("rb") as stream:
            while "id" not in answer:
                answer = read_frame(stream)
                if tell and "method" in answer:
                    tell({k: v for k, v in answer["params"].items() if k != "id"})
            error = answer.get("error") or {}
            error = error.get("data") or error
            if error.get("code") == "shutting_down":
                stream.read()  # until it is gone; then the next daemon can have it
                raise BrokenError("refused, not begun")
    except socket.timeout:
        hint = "it may be stopped or overloaded; end its process, and the next call starts one"
        raise fail("timeout", "the daemon does not answer", hint, "worker") from None
    except (OSError, ValueError):
        raise BrokenError from None
    if error:
        raise PillionError(error)
    return answer["result"]


class Client:
    """A handle on pillion, to be shared by threads: each command is a method, `call` is for all."""

    def __init__(self, root: str | None = None, **how: Any) -> None:
        """Take `url`, `socket`, `instance`, `start` (True) and `timeout` (seconds, none)."""
        self.root = {"root": os.path.abspath(root)} if root else {}
        self.url = (how.get("url") or os.environ.get("PILLION_URL") or "").rstrip("/")
        self.start, self.timeout = how.get("start", True), how.get("timeout")
        given, uid = (how.get("socket"), how.get("instance")), getattr(os, "geteuid", int)()
        self.path = os.path.abspath(socket_path(*given, os.environ, uid))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.replace("_", "-") not in COMMANDS:
            raise AttributeError(name)
        operation, words, _ = COMMANDS[name.replace("_", "-")]
        names = [re.split("[:?]", word)[0] for word in words.split() if word[0] != "-"]

        def ask(*values: Any, **params: Any) -> Any:
            if len(values) > len(names):
                raise TypeError(f"{name} takes {', '.join(names)}; others by their names")
            params = {**(self.root if words else {}), **dict(zip(names, values)), **params}
            return self.call(operation, localise(operation, params, os.getcwd()))

        return ask

    def call(self, operation: str, params: Json | None = None, tell: Any = None) -> Any:
        """Ask for any operation, its parameters as they are; `tell` gets the parts of a stream."""
        params = params or {}
        for safe in (may_repeat(operation, params), False):
            try:
                if self.url:
                    return self._post(operation, params)
                with contextlib.closing(self._connect()) as connection:
                    return exchange(connection, operation, params, tell, self.timeout)
            except BrokenError as broken:
                if not (safe or broken.args):
                    break
        raise fail("unreachable", "the connection broke", "look whether it was done before asking")

    def _dial(self) -> Any:
        """Connect, and make sure that this user listens and that a ping is answered."""
        absent = AbsentError(fail("unreachable", f"no daemon on `{self.path}`", "start one").error)
        try:
            with contextlib.ExitStack() as opened:
                connection = opened.enter_context(socket.socket(socket.AF_UNIX))
                connection.settimeout(PING)
                connection.connect(self.path)
                peer = PEERCRED and connection.getsockopt(socket.SOL_SOCKET, PEERCRED, 12)
                if peer and int.from_bytes(peer[4:8], sys.byteorder) != os.geteuid():
                    raise PermissionError("it is another user's")
                exchange(connection, "system.ping", {}, None, PING)
                opened.pop_all()
                return connection
        except BrokenError:  # one that is ending still takes connections for a moment
            raise absent from None
        except (OSError, AttributeError) as error:
            gone = isinstance(error, (FileNotFoundError, ConnectionRefusedError))
            if gone and not os.path.isfile(self.path):  # a plain file is no stale socket
                raise absent from None
            hint = "choose another socket with `--socket`, or an address with `--url`"
            raise fail("unreachable", f"cannot connect to `{self.path}`: {error}", hint) from None

    def _connect(self) -> Any:
        with contextlib.suppress(*([AbsentError] if self.start else [])):
            return self._dial()
        program, limit = find_program()
        ping, null = [*program, "--socket", self.path, "ping"], subprocess.DEVNULL
        try:
            # It takes the lock that all clients share, starts one daemon and waits for it.
            done = subprocess.run(ping, stdin=null, capture_output=True, timeout=limit, check=False)
            said = done.stderr.decode(errors="replace").strip() or "it said nothing"
        except (OSError, subprocess.SubprocessError) as error:
            said = str(error)
        with contextlib.suppress(AbsentError):
            return self._dial()
        hint = "run `pillion daemon` in a terminal to see why; is `PILLION_NO_DAEMON` set?"
        raise fail("start_failed", f"no daemon could be started: {said[-4000:]}", hint)

    def _post(self, operation: str, params: Json) -> Any:
        address = urllib.parse.urlsplit(self.url)
        place = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
        if address.scheme not in ("http", "https") or "@" in address.netloc:
            hint = "write it like http://127.0.0.1:PORT, without a password"
            raise fail("invalid_params", f"`{place}` is not such an address", hint, "input")
        # A stream comes as a whole here; only the socket has its parts one by one.
        body = json.dumps({**params, "stream": False} if "stream" in params else params).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/{operation}", body, headers)
        # A proxy has no business between two programs of one machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=self.timeout) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            found: Any = {}
            with contextlib.suppress(OSError, ValueError):
                found = json.loads(error.read())
            other = fail("invalid_result", f"`{place}`: {error}", "is it pillion's?", "worker")
            raise (PillionError(found) if "code" in found else other) from None
        except (OSError, HTTPException, ValueError) as error:
            if not isinstance(getattr(error, "reason", None), ConnectionRefusedError):
                raise BrokenError from None
            hint = "start one with `pillion serve`, or use the daemon without an address"
            raise fail("unreachable", f"nobody listens on `{place}`", hint) from None


def stop(client: Client) -> Json:
    """Ask the daemon to end, and wait until nobody listens; none is started for that."""
    client.start, stopped, deadline = False, False, time.monotonic() + GONE
    with contextlib.suppress(AbsentError):
        stopped = bool(client.call("system.shutdown"))
        while not client.url:
            client._dial().close()
            if time.monotonic() > deadline:
                raise fail("timeout", "the daemon still runs", "end its process", "worker")
            time.sleep(0.01)
    return {"stopped": stopped}


def spot(text: str) -> Json:
    """Read one of several places."""
    file, line, col = text.rsplit(":", 2)
    return {"file": file, "line": int(line), "col": int(col)}


def parse(argv: list[str]) -> tuple[str, Json]:
    """Read the command line: the operation, and everything that was given."""
    rest, valued = iter(argv), ("--url", "--socket", "--instance")
    name = next((w for w in rest if not (w in valued and next(rest, "")) and w[:1] != "-"), "")
    listed = "\n".join(f"  {name:17} {row[2]}" for name, row in COMMANDS.items())
    other = (name, "params:json?", "") if re.match(r"\w+\.\w", name) else ("", "", listed)
    operation, words, about = COMMANDS.get(name, other)
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=style, allow_abbrev=False)
    parser.add_argument("--version", action="version", version="pillion_client " + __version__)
    parser.add_argument("command", choices=[name] if operation else COMMANDS, metavar="COMMAND")
    words += " --root:str --timeout-ms:int" if words else ""
    types = {"int": int, "str": str, "json": json.loads, "spot": spot, "": str}
    for word in [*words.split(), "--json", "--url:str", "--socket:str", "--instance:str"]:
        names, _, kind = word.rstrip("?*").partition(":")
        how: Json = {"type": types[kind]} if kind or word[0] != "-" else {"action": "store_true"}
        how.update({"?": {"nargs": "?"}, "*": {"action": "append"}}.get(word[-1], {}))
        parser.add_argument(*names.split("/"), default=None, **how)
    # Options may stand between the others, unless `--` ends them.
    given = vars((parser.parse_args if "--" in argv else parser.parse_intermixed_args)(argv))
    given = {RENAMED.get(name, name): value for name, value in given.items() if value is not None}
    if "--at" in words and not {"positions", "col"} & given.keys():
        parser.error("name FILE LINE COL, or --at FILE:LINE:COL")
    return operation, given


def run(client: Client, operation: str, params: Json, whole: bool) -> str:
    """Ask for what the command line says; gives what is to be printed."""
    command, people = params.pop("command"), sys.stdout.isatty() and not whole
    params = params if command in COMMANDS else {**params.pop("params", {}), **params}
    flat = command == "list" and not people and "depth" not in params
    if command == "codemod":
        with open(params["rule"], encoding="utf-8") as file:
            params["rule"] = file.read()
    for variable in ("PILLION_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable) and (command == "call" or operation[:5] == "code."):
            params.setdefault(variable.replace("PILLION_", "").lower(), os.environ[variable])
    params.update({"depth": 1} if flat else {})
    params.update({"format": "text"} if people and operation[:5] == "code." else {})

    def tell(part: Json) -> None:
        try:
            print(json.dumps(part if whole else part.get("item", part)), flush=True)
        except BrokenPipeError:
            os._exit(0)  # nobody reads on; hanging up cancels the call

    params = localise(operation, params, os.getcwd())
    result = stop(client) if command == "stop" else client.call(operation, params, tell)
    if flat:
        keys = (("path", "file"), ("kind", "kind"), ("name", "name"), ("line", "line"))
        result = [{to: row[of] for to, of in keys} for row in result["symbols"]]
    if command == "call" and not whole:
        result = result["result"]
    text = people and isinstance(result, dict) and result.get("text")
    return text or json.dumps(result, indent=2 if people else None, ensure_ascii=False)


def main(argv: list[str] | None = None) -> int:
    """Run a command, and tell how it ended: 0, 1 for an error; 2 is wrong usage."""
    operation, given = parse(sys.argv[1:] if argv is None else argv)
    whole = given.pop("json", False)
    client = Client(**{name: given.pop(name, None) for name in ("url", "socket", "instance")})
    try:
        print(run(client, operation, given, whole), flush=True)
        return 0
    except PillionError as error:
        failed = error.error
    except BrokenPipeError:
        os._exit(0)  # a reader that went away is no error
    except OSError as error:
        failed = fail("not_found", str(error), "is the current folder there?", "input").error
    except KeyboardInterrupt:
        failed = fail("cancelled", "interrupted", "ask again", "input").error
    hint = f"\nhint: {failed['hint']}" if failed.get("hint") else ""
    text = json.dumps(failed, ensure_ascii=False) if whole else f"error: {failed['message']}{hint}"
    print(text, file=sys.stdout if whole else sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
