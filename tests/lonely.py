"""Runs a program in a network of its own, in which only the loopback is, and reports what it tried to reach.

    unshare --net --map-root-user python -m tests.lonely --alone REPORT PROGRAM ARGUMENT …

`wrapped` makes that command where the kernel allows it. The kernel counts packets that no route could take,
whoever in the program's processes sent them, also code that is not Python's. What Python's own sockets were
asked for is noted by an audit hook, with a name, in every process and thread of the program: that works
without such a network, too. `--forward` lets a browser outside in, by a socket of the file system.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNSHARE = ("unshare", "--net", "--map-root-user")
NOTES = "ATHENA_TEST_CONNECTIONS"  # the file that the audit hook writes to
LOCAL = ("127.0.0.1", "::1", "localhost", "", "None", "0.0.0.0")
HOOK = f"""
import os, sys
def note(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        address = (args[0],)
    else:
        return
    if isinstance(address, tuple):
        host = address[0].decode() if isinstance(address[0], bytes) else str(address[0])
        with open(os.environ["{NOTES}"], "a") as file:
            file.write(f"{{event}} {{host}}\\n")
sys.addaudithook(note)
"""
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


@cache
def can_be_lonely() -> bool:
    """Whether this machine lets us make a network."""
    if not shutil.which("unshare"):
        return False
    return (
        subprocess.run(["unshare", "--net", "--map-root-user", "true"], capture_output=True).returncode == 0
    )


def wrapped(program: list[str], report: Path, *, forward: tuple[Path, int] | None = None) -> list[str]:
    """The command that runs a program in a network of its own, if that can be made, and else as it is."""
    alone = ["--alone"] if can_be_lonely() else []
    unshared = [*UNSHARE] if alone else []
    forwarding = ["--forward", str(forward[0]), str(forward[1])] if forward else []
    return [*unshared, sys.executable, "-m", "tests.lonely", *alone, *forwarding, str(report), *program]


def noting(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment in which every Python notes what it connects to, in `folder`."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    (folder / "connections").touch()
    return {
        **environment,
        NOTES: str(folder / "connections"),
        "PYTHONPATH": os.pathsep.join([str(folder / "hook"), str(ROOT)]),
    }


def reached(folder: Path, report: Path) -> list[str]:
    """What was tried to be reached beyond the loopback, by name where Python was asked, else as a number."""
    noted = (folder / "connections").read_text(encoding="utf-8").splitlines()
    named = [line for line in noted if line.split(" ", 1)[-1] not in LOCAL]
    refused = json.loads(report.read_text(encoding="utf-8"))["refused"]
    return [*named, *([f"{refused} packets without a route"] if refused else [])]


def refused_packets() -> int:
    """Packets that this network had no route for, since it was made."""
    lines = [
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:")
    ]
    count = int(dict(zip(*lines, strict=True))["OutNoRoutes"])
    for line in Path("/proc/net/snmp6").read_text().splitlines() if Path("/proc/net/snmp6").exists() else ():
        name, value = line.split()
        count += int(value) if name == "Ip6OutNoRoutes" else 0
    return count


def main() -> int:
    """Run the program and write the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--forward", nargs=2)
    parser.add_argument("report", type=Path)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.alone:
        _bring_loopback_up()
    if given.forward:
        path, port = given.forward
        threading.Thread(target=_forward, args=(Path(path), int(port)), daemon=True).start()
    before = refused_packets() if given.alone else 0
    process = subprocess.Popen(given.program)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    code = process.wait()
    refused = refused_packets() - before if given.alone else 0
    given.report.write_text(json.dumps({"refused": refused}), encoding="utf-8")
    return code


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        flags = struct.unpack("16sh", fcntl.ioctl(plain, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0)))[1]
        fcntl.ioctl(plain, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))


def _forward(path: Path, port: int) -> None:
    """From a socket of the file system to a port of this network."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        serve_forward(listener, lambda: socket.create_connection(("127.0.0.1", port)))


def serve_forward(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Connect whoever comes with what `connect` opens, until the listener is closed."""
    while True:
        try:
            near, _ = listener.accept()
        except OSError:
            return
        try:
            far = connect()
        except OSError:
            near.close()
            continue
        threading.Thread(target=_relay, args=(near, far), daemon=True).start()


def _relay(near: socket.socket, far: socket.socket) -> None:
    """Both ways, until either side ends."""
    with near, far:
        back = threading.Thread(target=_copy, args=(far, near), daemon=True)
        back.start()
        _copy(near, far)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    sys.exit(main())
