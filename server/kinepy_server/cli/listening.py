"""The listening sockets, taken before anything else so that a port in use is noticed at once."""

import errno
import socket

from kinepy_server.auth.kubeconfig import url_of
from kinepy_server.cli.problems import Problem


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A bound socket that does not listen yet. Raises `Problem`.

    `shared` lets this server's other workers bind the port too. That alone would let any second server of the
    same user in as well, so a port is first bound without it, which proves it free.
    """
    bound = _bind(host, port, shared=False)
    if not shared:
        return bound
    taken = bound.getsockname()[1]
    bound.close()
    return _bind(host, taken, shared=True)


def bind_another(host: str, port: int) -> socket.socket:
    """One more socket on a port that this server holds."""
    return _bind(host, port, shared=True)


def _bind(host: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
        if not shared:
            # Two sockets may be bound to one port as long as none listens: only listening proves it free.
            sock.listen()
    except OSError as error:
        sock.close()
        raise Problem(_text(error, host, port)) from error
    sock.set_inheritable(True)
    sock.setblocking(False)
    return sock


def _text(error: OSError, host: str, port: int) -> str:
    address = url_of("", host, port).removeprefix("://")
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: stop what listens there, or choose another with --listen"
    if error.errno == errno.EACCES:
        return f"no right to listen on {address}: choose a port above 1023 with --listen"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine: choose another with --listen"
    return f"cannot listen on {address} ({error.strerror}): choose another address with --listen"
