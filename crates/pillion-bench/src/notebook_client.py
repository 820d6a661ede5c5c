"""Cells through jupyter_client, as the baseline: a line in, a line with seconds out."""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel


def main() -> None:
    manager, client = None, None
    for line in sys.stdin:
        order = json.loads(line)
        began = time.perf_counter()
        if order["do"] == "start":
            if manager is not None:
                client.stop_channels()
                manager.shutdown_kernel(now=True)
                began = time.perf_counter()
            manager, client = start_new_kernel(kernel_name="python3")
            client.execute_interactive("1 + 1", output_hook=lambda _: None)
        elif order["do"] == "cell":
            client.execute_interactive(order["code"], output_hook=lambda _: None)
        elif order["do"] == "complete":
            client.complete(order["code"], len(order["code"]), reply=True, timeout=60)
        print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
    if manager is not None:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
