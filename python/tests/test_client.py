"""The single-file client: what it decides by itself. The Rust tests run it against pillion."""

from __future__ import annotations

import ast
import http.server
import importlib.util
import io
import json
import os
import socket
import threading
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "clients" / "python" / "pillion_client.py"
spec = importlib.util.spec_from_file_location("pillion_client", FILE)
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)


def test_it_is_one_short_file_for_old_pythons_without_packages():
    text = FILE.read_text()
    assert len(text.splitlines()) < 400
    tree = ast.parse(text, feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {getattr(node, "module", None) or node.names[0].name for node in imports}
    known = {"__future__", "argparse", "contextlib", "http.client", "json", "os", "re", "shutil"}
    known |= {"socket", "subprocess", "sys", "time", "typing", "urllib.request"}
    assert names == known


@pytest.mark.parametrize(
    ("env", "explicit", "instance", "path"),
    [
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, None, None, "/run/user/7/pillion/daemon.sock"),
        ({"XDG_RUNTIME_DIR": ""}, None, None, "/tmp/pillion-7/daemon.sock"),
        ({"TMPDIR": "/t"}, None, None, "/t/pillion-7/daemon.sock"),
        ({"XDG_RUNTIME_DIR": "/r"}, None, "ci", "/r/pillion/ci.sock"),
        ({"XDG_RUNTIME_DIR": "/r", "PILLION_INSTANCE": "x"}, None, None, "/r/pillion/x.sock"),
        ({"XDG_RUNTIME_DIR": "/r", "PILLION_SOCKET": "/s"}, None, None, "/s"),
        ({"XDG_RUNTIME_DIR": "/r"}, "/x.sock", "ci", "/x.sock"),
    ],
)
def test_the_socket_is_where_the_daemon_puts_it(env, explicit, instance, path):
    assert client.socket_path(explicit, instance, env, 7) == path


def test_a_deep_folder_and_a_strange_name_get_a_hash():
    deep = client.socket_path(None, None, {"XDG_RUNTIME_DIR": "/" + "d" * 120}, 7)
    assert deep.startswith("/tmp/pillion-7/")
    assert len(deep) < client.MAX_SOCKET_PATH
    strange = client.socket_path(None, "../../etc/x", {"XDG_RUNTIME_DIR": "/r"}, 7)
    assert strange.startswith("/r/pillion/i-")
    # The known values of FNV-1a.
    assert client.fnv("") == "cbf29ce484222325"
    assert client.fnv("foobar") == "85944171f73967e8"


def test_paths_of_questions_are_made_absolute_and_say_where_the_caller_stands():
    params = {"file": "a.py", "root": "..", "positions": [{"file": "b.py", "line": 1, "col": 2}]}
    assert client.localise("code.defs", params, "/here") == {
        "file": "/here/a.py",
        "root": "/here/..",
        "positions": [{"file": "/here/b.py", "line": 1, "col": 2}],
        "near": "/here",
    }
    assert params["file"] == "a.py", "the caller's own parameters stay as they are"
    assert client.localise("code.list", {"path": "/x"}, "/here")["path"] == "/x"
    assert client.localise("system.status", {}, "/here") == {}


def test_a_call_finds_the_module_in_the_folder_where_one_stands(tmp_path):
    here = str(tmp_path)
    (tmp_path / "mine.py").write_text("")
    params = client.localise("py.call", {"function": "mine:f"}, here)
    assert params == {"function": "mine:f", "root": here, "path": [here]}
    params = client.localise("py.call", {"function": "math:f", "python": "3.12"}, here)
    assert params == {"function": "math:f", "root": here, "python": "3.12"}
    params = client.localise("py.call", {"function": "f", "python": "bin/python"}, here)
    assert params["python"] == os.path.join(here, "bin/python")


def test_only_what_does_no_harm_is_repeated():
    assert client.may_repeat("code.refs", {})
    assert client.may_repeat("code.rename", {})
    assert not client.may_repeat("code.rename", {"apply": True})
    assert not client.may_repeat("code.some_later_edit", {})
    assert client.may_repeat("system.status", {})
    assert not client.may_repeat("system.shutdown", {})
    assert not client.may_repeat("py.call", {})
    assert client.may_repeat("py.call", {"idempotent": True})


def test_the_command_line_becomes_parameters():
    def read(line):
        operation, given = client.parse(line.split())
        del given["command"]
        return operation, given

    place = {"file": "a.py", "line": 3, "col": 5}
    assert read("defs a.py 3 5") == ("code.defs", place)
    given = {**place, "limit": 2, "json": True}
    assert read("--json refs a.py --limit 2 3 5") == ("code.refs", given)
    spots = [place, {"file": "b:c.py", "line": 1, "col": 1}]
    assert read("refs --at a.py:3:5 --at b:c.py:1:1")[1] == {"positions": spots}
    assert read("refs a.py 3 5 --include-declaration false")[1] == {
        **place,
        "include_declaration": False,
    }
    assert read("--socket list grep x --regex src")[0] == "code.grep"
    assert read("grep -- -x")[1] == {"pattern": "-x"}
    assert read("symbols q --kind class --kind method")[1]["kinds"] == ["class", "method"]
    assert read("move a.py b.py")[1] == {"file": "a.py", "dest_file": "b.py"}
    assert read("move a.py 3 5 b.py --apply")[1] == {**place, "dest_file": "b.py", "apply": True}
    assert read("extract-var a.py 3 4 name --start-col 2")[1]["start_col"] == 2
    assert read('py.describe {"module":"math"}')[1] == {"params": {"module": "math"}}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nosuch",
        "defs",
        "defs a.py 3",
        "defs a.py x 5",
        "refs --at a.py",
        "grep",
        "list -q",
        "--root . list",
    ],
)
def test_wrong_usage_is_told_apart(line, capsys):
    with pytest.raises(SystemExit) as ended:
        client.main(line.split())
    assert ended.value.code == 2
    assert "usage: " in capsys.readouterr().err


def test_frames_are_read_as_the_contract_says():
    for head in (b"Content-Length: 2\r\n\r\n", b"X: a:b\ncontent-length : 2\n\n"):
        assert client.read_frame(io.BytesIO(head + b"{}rest")) == {}
    for broken in (b"", b"Content-Length: 2\r\n", b"Content-Length: 2\r\n\r\n{", b"A: b\r\n\r\n{}"):
        with pytest.raises(client.BrokenError):
            client.read_frame(io.BytesIO(broken))


def test_a_missing_program_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PILLION_BIN", str(tmp_path / "nosuch"))
    args = ["--socket", str(tmp_path / "s"), "status"]
    assert client.main(args) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "nosuch" in said.err
    assert "\nhint: install pillion" in said.err
    assert client.main(["--json", *args]) == 1
    error = json.loads(capsys.readouterr().out)
    assert (error["code"], error["kind"]) == ("start_failed", "environment")


def test_uvx_stands_in_for_a_missing_program(monkeypatch, tmp_path):
    monkeypatch.delenv("PILLION_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(client.PillionError):
        client.find_program()
    for name in ("uvx", "pillion"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        found = client.find_program()[0]
        assert found == [str(tmp_path / name), *(["pillion"] if name == "uvx" else [])]


def test_a_plain_file_is_not_taken_for_a_stale_socket(tmp_path):
    (tmp_path / "s").write_text("")
    with pytest.raises(client.PillionError) as caught:
        client.Client(socket=str(tmp_path / "s")).call("system.ping")
    assert caught.value.code == "unreachable"
    assert "cannot connect" in str(caught.value)


def test_a_password_in_an_address_is_refused_and_never_said(capsys):
    assert client.main(["--url", "http://me:hunter2@localhost:1", "status"]) == 1
    said = capsys.readouterr()
    assert "without a password" in said.err
    assert "hunter2" not in said.out + said.err


class Door(http.server.BaseHTTPRequestHandler):
    """An HTTP door that answers, refuses or hangs up."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, json.loads(body)))
        status, answer = self.server.answers.pop(0)
        if status:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def door():
    server = http.server.HTTPServer(("127.0.0.1", 0), Door)
    server.answers, server.asked = [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.address = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_error_over_http_is_the_error_and_is_not_repeated(door, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    error = {"code": "not_found", "kind": "input", "message": "no file", "recoverable": True}
    door.answers = [(404, json.dumps(error).encode()), (500, b"<html>"), (200, b'{"pong": true}')]
    asked = client.Client(url=door.address)
    with pytest.raises(client.PillionError) as caught:
        asked.defs("a.py", 3, 5)
    assert caught.value.error == error
    path, params = door.asked[0]
    assert path == "/v1/code.defs"
    assert params["file"] == os.path.join(os.getcwd(), "a.py")
    with pytest.raises(client.PillionError) as caught:
        asked.call("system.ping")
    assert caught.value.code == "invalid_result"
    assert asked.call("system.ping") == {"pong": True}
    assert len(door.asked) == 3


def test_a_broken_connection_is_tried_once_more_for_reads_only(door):
    asked = client.Client(url=door.address)
    door.answers = [(0, b""), (200, b"{}")]
    assert asked.status() == {}
    door.answers = [(0, b""), (200, b"{}")]
    with pytest.raises(client.PillionError) as caught:
        asked.call("py.call", {"function": "m:f"})
    assert caught.value.code == "unreachable"
    assert len(door.asked) == 3


class Daemon:
    """A daemon of the test's own: each connection gets a ping answered, then what is scripted."""

    def __init__(self, path, *answers):
        self.asked = []
        self.answers = list(answers)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while self.answers:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rwb") as stream:
                self.answer(stream, {"result": {"pong": True}})
                message = self.answers.pop(0)
                self.answer(stream, message)
        self.listener.close()

    def answer(self, stream, *messages):
        self.asked.append(client.read_frame(stream)["method"])
        for message in filter(None, messages):
            body = json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()
            stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        stream.flush()


def test_on_the_socket_too_only_reads_are_tried_once_more(tmp_path):
    path = tmp_path / "s"
    daemon = Daemon(path, None, {"result": 1}, None, None)
    asked = client.Client(socket=str(path), timeout=5)
    assert asked.call("code.refs") == 1
    with pytest.raises(client.PillionError) as caught:
        asked.call("py.call")
    assert caught.value.code == "unreachable"
    with pytest.raises(client.PillionError):
        asked.call("code.rename", {"apply": True})
    daemon.thread.join()
    real = [method for method in daemon.asked if method != "system.ping"]
    assert real == ["code.refs", "code.refs", "py.call", "code.rename"]


def test_what_an_ending_daemon_refused_is_asked_again_and_an_error_is_not(tmp_path):
    path = tmp_path / "s"
    data = {"code": "shutting_down", "message": "it ends"}
    refused = {"error": {"code": -32018, "message": "it ends", "data": data}}
    failed = {"error": {"code": -32004, "message": "no", "data": {"code": "conflict"}}}
    daemon = Daemon(path, refused, {"result": 2}, failed)
    asked = client.Client(socket=str(path), timeout=5)
    assert asked.call("py.call") == 2
    with pytest.raises(client.PillionError) as caught:
        asked.call("code.refs")
    assert caught.value.code == "conflict"
    daemon.thread.join()
    assert len(daemon.asked) == 6


def test_a_method_takes_no_more_than_the_command():
    with pytest.raises(TypeError, match="file, line, col"):
        client.Client().defs("a.py", 1, 2, 3)


def test_every_command_is_a_method():
    asked = client.Client()
    for name in client.COMMANDS:
        assert callable(getattr(asked, name.replace("-", "_")))
    with pytest.raises(AttributeError):
        asked.nosuch()
