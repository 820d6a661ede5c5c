"""Reaching anything that listens: by the network, by sockets of this machine, by names."""

import socket

message = b"attack"
unix_path, unix_datagrams, abstract = given["socket"], given["datagrams"], "\0" + given["abstract"]
families = ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"]
families += ["AF_BLUETOOTH", "AF_TIPC", "AF_CAN", "AF_RDS", "AF_KEY", "AF_QIPCRTR"]


def tcp(host):
    with socket.create_connection((host, int(given["port"])), timeout=2) as connection:
        return connection


def udp(host):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        return ours.sendto(message, (host, 53))


def connected(kind, address):
    with socket.socket(socket.AF_UNIX, kind) as ours:
        ours.connect(address)
        return ours


def reused(kind, address):
    """A pair is connected to itself; some kinds can be connected anew."""
    one, _other = socket.socketpair(socket.AF_UNIX, kind)
    one.connect(address)
    return one.send(message)


def sent(kind, address):
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    other.setblocking(False)
    one.sendto(message, address)
    # Some kinds pass over the address.
    return other.recv(100) != message and address


def bound(kind):
    one, _other = socket.socketpair(socket.AF_UNIX, kind)
    one.bind("\0lane-attack")
    return one


for name in families:
    family = getattr(socket, name, None)
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET]:
        if family is not None:
            attempt(f"socket {name} {kind!r}", socket.socket, family, kind)
for host in ["127.0.0.1", "localhost", "::1", given["host"], "169.254.169.254", "1.1.1.1"]:
    attempt(f"connect to {host}", tcp, host)
    attempt(f"send to {host}", udp, host)
kinds = [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW]
for address in [unix_path, unix_datagrams, abstract, "/run/dbus/system_bus_socket", "/dev/log"]:
    for kind in kinds:
        attempt(f"{kind!r} to {address!r}", connected, kind, address)
        attempt(f"{kind!r} pair to {address!r}", reused, kind, address)
        attempt(f"{kind!r} pair sent to {address!r}", sent, kind, address)
for name in ["example.com", "one.one.one.one", given["name"]]:
    attempt(f"look up {name}", socket.getaddrinfo, name, 80)
attempt("look up an address", lambda: socket.gethostbyaddr("1.1.1.1"))
if boxed:
    attempt("interfaces", lambda: [name for _, name in socket.if_nameindex() if name != "lo"])
done()
