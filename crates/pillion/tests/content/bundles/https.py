"""Serves a folder with and without encryption, and says on which ports.

What is asked for below `/up/` is answered by a redirect to the port with encryption, below `/down/`
by one to the port without.
"""

import functools
import http.server
import ssl
import sys
import threading

folder, certificate = sys.argv[1:]
ports = {}


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        _, first, *rest = self.path.split("/")
        if first in ports:
            self.send_response(302)
            self.send_header("Location", ports[first] + "/".join(rest))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


handler = functools.partial(Handler, directory=folder)
plain, encrypted = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in "ab")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
encrypted.socket = context.wrap_socket(encrypted.socket, server_side=True)
ports["up"] = f"https://localhost:{encrypted.server_port}/"
ports["down"] = f"http://localhost:{plain.server_port}/"
for server in (plain, encrypted):
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(plain.server_port, encrypted.server_port, flush=True)
sys.stdin.read()
