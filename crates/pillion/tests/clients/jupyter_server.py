"""A real Jupyter Server whose kernels are pillion's, by its own gateway client.

`python jupyter_server.py PORT TOKEN FOLDER` starts it, and then is a browser: kernels and
sessions by REST, cells by WebSocket, all through Jupyter's own code.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from jupyter_websocket import DEADLINE, Server, printed
from tornado.httpclient import AsyncHTTPClient


def start(port, token, folder, program="jupyter_server", more=()):
    """Start one of Jupyter's servers in `folder`; its process, and where it says its port."""
    folder = Path(folder)
    runtime = folder / "runtime"
    environment = dict(os.environ)
    for name in ("DATA", "CONFIG", "RUNTIME"):
        environment[f"JUPYTER_{name}_DIR"] = str(folder / name.lower())
    options = {
        "ServerApp.port": 0,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": str(folder),
        "IdentityProvider.token": "own",
        "GatewayClient.url": f"http://127.0.0.1:{port}",
        "GatewayClient.auth_token": token,
        "GatewayClient.request_timeout": DEADLINE,
    }
    command = [sys.executable, "-m", program, "--no-browser", *more]
    if os.getuid() == 0:
        command.append("--allow-root")
    command += [f"--{name}={value}" for name, value in options.items()]
    log = open(folder / "jupyter.log", "w")
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log), runtime


async def address(process, runtime):
    """The port that it listens on, by the file that it writes."""
    for _ in range(DEADLINE * 10):
        assert process.poll() is None, "Jupyter ended"
        for file in runtime.glob("jpserver-*.json"):
            try:
                return json.loads(file.read_text())["port"]
            except ValueError:
                pass
        await asyncio.sleep(0.1)
    raise AssertionError("Jupyter does not listen")


async def ready(process, runtime):
    """The server, once it answers."""
    server = Server(await address(process, runtime), "own")
    for _ in range(DEADLINE * 10):
        try:
            if (await server.ask("GET", "/api"))[0] == 200:
                return server
        except ConnectionRefusedError:
            # The file is there before the door is open.
            assert process.poll() is None, "Jupyter ended"
        await asyncio.sleep(0.1)
    raise AssertionError("Jupyter does not answer")


async def story(server):
    _, specs = await server.ask("GET", "/api/kernelspecs")
    assert "pillion" in specs["kernelspecs"]["python3"]["spec"]["display_name"], specs
    wanted = {"path": "a.ipynb", "type": "notebook", "name": "", "kernel": {"name": "python3"}}
    status, session = await server.ask("POST", "/api/sessions", wanted)
    assert status == 201, (status, session)
    kernel = session["kernel"]["id"]
    client = await server.connect(kernel)
    reply, seen = await client.run("import os; print(os.getcwd()); x = 20; x + 1")
    assert reply["status"] == "ok" and printed(seen) == "/lane/work\n", seen
    result = next(m for m in seen if m.kind == "execute_result")
    assert result.content["data"]["text/plain"] == "21"
    asked = await client.send("shell", "execute_request", {"code": "print(1)\nwhile True: pass"})
    await client.until(lambda m: m.kind == "stream")
    assert (await server.ask("POST", f"/api/kernels/{kernel}/interrupt"))[0] == 204
    reply, _ = await client.end_of(asked)
    assert reply["ename"] == "KeyboardInterrupt", reply
    status, model = await server.ask("POST", f"/api/kernels/{kernel}/restart", {})
    assert (status, model["id"]) == (200, kernel), (status, model)
    client = await server.connect(kernel)
    reply, _ = await client.run("x")
    assert reply["ename"] == "NameError", reply
    _, kernels = await server.ask("GET", "/api/kernels")
    assert [k["id"] for k in kernels] == [kernel], kernels
    assert (await server.ask("DELETE", f"/api/sessions/{session['id']}"))[0] == 204
    assert (await server.ask("GET", "/api/kernels"))[1] == []


@contextlib.asynccontextmanager
async def running(port, token, folder, *more):
    """One of Jupyter's servers, ready; at its end nothing of it is left at pillion's."""
    process, runtime = start(port, token, folder, *more)
    try:
        yield await ready(process, runtime)
        pillion = Server(port, token)
        assert (await pillion.ask("GET", "/api/kernels"))[1] == [], "nothing is left behind"
    except BaseException:
        sys.stderr.write((Path(folder) / "jupyter.log").read_text()[-5000:])
        raise
    finally:
        process.terminate()
        process.wait(DEADLINE)


async def main():
    port, token, folder = sys.argv[1:]
    AsyncHTTPClient.configure(None, max_body_size=1 << 30)
    async with running(port, token, folder) as server:
        await story(server)
    print("as told")


if __name__ == "__main__":
    asyncio.run(main())
