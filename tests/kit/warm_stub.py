"""What tests start in place of the installed `kubescript`: it hands its arguments, environment, folder and standard
streams to the warm process of tests/kit/warm.py, passes signals on, and ends as the command ended.

It is started hundreds of times, so it imports nothing that takes time.
"""

import _socket
import os
import signal
import sys

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)


def main(address: str) -> None:
    """Runs the command whose words are in sys.argv."""
    open_streams = [number for number in (0, 1, 2) if is_open(number)]  # first: the socket gets a number that is free
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    sock.connect(address)
    words = [os.fsencode(word) for word in sys.argv[1:]]
    variables = [name + b"=" + value for name, value in os.environb.items()]
    parts = [b"%d" % len(words), *words, os.getcwdb(), *variables]
    payload = b"\0".join(parts)
    rights = b"".join(number.to_bytes(4, sys.byteorder) for number in open_streams)
    head = b"%d %d " % (len(payload), sum(1 << number for number in open_streams))
    sock.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if rights else [])
    sock.sendall(payload)
    for number in FORWARDED:
        signal.signal(number, lambda got, _: sock.send(bytes([got])))
    status = b""
    while len(status) < 4:
        part = sock.recv(4 - len(status))
        if not part:
            os._exit(70)
        status += part
    code = int.from_bytes(status, sys.byteorder, signed=True)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        signal.pause()
    os._exit(code)


def is_open(number: int) -> bool:
    """Whether this descriptor is open: a client may have closed standard input."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
