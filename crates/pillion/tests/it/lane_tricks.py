"""Ways for code in a lane to be taken for its user: PORT TOKEN_FILE DAEMON_SOCKET."""

import array
import os
import socket
import subprocess
import sys
import threading

port, token_file, daemon_socket = int(sys.argv[1]), sys.argv[2], sys.argv[3]
REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def attempt(name, action):
    try:
        brought = action()
    except OSError as error:
        print("held", name, error)
    else:
        print("ESCAPED" if brought else "held", name, repr(brought)[:200])


def answered(connection):
    """Whether what comes back is more than a refusal."""
    connection.settimeout(20)
    text = b""
    try:
        while chunk := connection.recv(65536):
            text += chunk
    except OSError:
        pass
    return b" 401 " not in text[:20] and text


def connected():
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def by_a_child_that_stays():
    """The one who asks is gone, and a child has the socket."""
    connection = connected()
    child = os.fork()
    if child:
        connection.sendall(REQUEST)
        got = answered(connection)
        os.waitpid(child, 0)
        return got
    connection.close()
    os._exit(0)


def in_flight():
    """Nobody has it: it waits in a socket."""
    one, other = socket.socketpair()
    connection = connected()
    number = array.array("i", [connection.fileno()])
    connection.sendall(REQUEST)
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, number)])
    connection.close()
    _, rest, _, _ = other.recvmsg(1, socket.CMSG_SPACE(4))
    back = array.array("i")
    back.frombytes(rest[0][2][:4])
    return answered(socket.socket(fileno=back[0]))


def by_a_thread():
    got = []

    def ask():
        connection = connected()
        connection.sendall(REQUEST)
        got.append(answered(connection))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return got[0]


def by_another_program():
    """A program that is not Python's own process."""
    code = (
        "import socket,sys;c=socket.create_connection(('127.0.0.1',%d));"
        "c.sendall(%r);print(c.recv(100))" % (port, REQUEST)
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return " 401 " not in got.stdout and got.stdout


def by_a_mapped_address():
    connection = socket.socket(socket.AF_INET6)
    connection.connect(("::ffff:127.0.0.1", port))
    connection.sendall(REQUEST)
    return answered(connection)


def half_closed():
    connection = connected()
    connection.sendall(REQUEST)
    connection.shutdown(socket.SHUT_WR)
    return answered(connection)


def by_the_daemon():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(daemon_socket)
    return True


def by_a_pair(kind):
    one, _other = socket.socketpair(socket.AF_UNIX, kind)
    one.connect(daemon_socket)
    return True


attempt("a thread", by_a_thread)
attempt("a child", by_a_child_that_stays)
attempt("in flight", in_flight)
attempt("another program", by_another_program)
attempt("a mapped address", by_a_mapped_address)
attempt("half closed", half_closed)
attempt("the token", lambda: open(token_file).read())
attempt("the folder of the token", lambda: os.listdir(os.path.dirname(token_file)))
attempt("the daemon", by_the_daemon)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    attempt(f"the daemon by a pair {kind!r}", lambda kind=kind: by_a_pair(kind))
attempt("an abstract socket", lambda: socket.socket(socket.AF_UNIX).bind("\0lane") or True)
print("tried all")
