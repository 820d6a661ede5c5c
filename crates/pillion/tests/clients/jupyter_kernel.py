"""pillion's kernels as the official `jupyter_client` has them.

`python jupyter_kernel.py join FILE` joins a kernel that runs, by its connection file;
`python jupyter_kernel.py launch NAME` starts one by a kernelspec that was installed.
"""

import sys
import time

from jupyter_client import BlockingKernelClient, KernelManager

DEADLINE = 60


def cells(client):
    client.start_channels()
    client.wait_for_ready(DEADLINE)
    shown = []
    reply = client.execute_interactive(
        "import os; print(os.getcwd()); y = 5", timeout=DEADLINE, output_hook=shown.append
    )
    assert reply["content"]["status"] == "ok", reply
    texts = [m["content"]["text"] for m in shown if m["msg_type"] == "stream"]
    assert texts == ["/lane/work\n"], texts
    asked = []

    def answer(message):
        asked.append(message["content"]["prompt"])
        client.input("me")

    reply = client.execute_interactive(
        "who = input('who? ')", allow_stdin=True, timeout=DEADLINE, stdin_hook=answer
    )
    assert reply["content"]["status"] == "ok" and asked == ["who? "], (reply, asked)
    reply = client.complete("who.upp", reply=True, timeout=DEADLINE)
    assert any(match.endswith("upper") for match in reply["content"]["matches"]), reply
    for _ in range(DEADLINE * 10):
        if client.hb_channel.is_beating():
            break
        time.sleep(0.1)
    else:
        raise AssertionError("its heart does not beat")


def join(file):
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    cells(client)
    # Nobody without the key is heard.
    stranger = BlockingKernelClient(connection_file=file)
    stranger.load_connection_file()
    stranger.session.key = b"guessed"
    stranger.start_channels()
    stranger.execute("open('stranger', 'w')")
    reply = client.execute_interactive(
        "import os; assert not os.path.exists('stranger')", timeout=DEADLINE
    )
    assert reply["content"]["status"] == "ok", reply


def launch(name):
    manager = KernelManager(kernel_name=name)
    assert "pillion" in manager.kernel_spec.display_name
    assert manager.kernel_spec.interrupt_mode == "message"
    manager.start_kernel()
    client = manager.client()
    cells(client)
    asked = client.execute("print('on')\nwhile True: pass")
    while client.get_iopub_msg(timeout=DEADLINE)["msg_type"] != "stream":
        pass
    manager.interrupt_kernel()
    while True:
        reply = client.get_shell_msg(timeout=DEADLINE)
        if reply["parent_header"]["msg_id"] == asked:
            break
    assert reply["content"]["ename"] == "KeyboardInterrupt", reply
    manager.restart_kernel()
    client.wait_for_ready(DEADLINE)
    reply = client.execute_interactive("y", timeout=DEADLINE, output_hook=lambda _: None)
    assert reply["content"]["ename"] == "NameError", reply
    assert manager.is_alive()
    manager.shutdown_kernel()
    assert not manager.is_alive()


def orphan(name):
    """Start a kernel and leave without a word."""
    import os

    manager = KernelManager(kernel_name=name)
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(DEADLINE)
    print("as told", flush=True)
    os._exit(0)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
    print("as told")
