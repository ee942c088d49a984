"""Runs a program in a network that has only the loopback, and reports what else it tried to reach.

    unshare --net --map-root-user python -m tests.lonely REPORT PROGRAM ARGUMENT …

`wrapped` makes that command where the kernel allows it: the kernel counts packets without a route, also those
of code that is not Python's. An audit hook notes the names that Python's own sockets are asked for, in every
process and thread of the program, with or without such a network.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNSHARE = ["unshare", "--net", "--map-root-user"]
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
    has_unshare = shutil.which("unshare") is not None
    return has_unshare and not subprocess.run([*UNSHARE, "true"], capture_output=True).returncode


def wrapped(program: list[str], report: Path) -> list[str]:
    """Return the command that runs a program in a network of its own; the program where none can be made."""
    alone = [*UNSHARE, sys.executable, "-m", "tests.lonely", str(report), *program]
    return alone if can_be_lonely() else program


def noting(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment in which every Python notes its connections in `folder`; forget earlier ones."""
    (folder / "hook").mkdir(exist_ok=True)
    (folder / "hook" / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    (folder / "connections").write_text("", encoding="utf-8")
    path = os.pathsep.join([str(folder / "hook"), str(ROOT)])
    return {**environment, NOTES: str(folder / "connections"), "PYTHONPATH": path}


def noted(folder: Path) -> list[str]:
    """Return the connections beyond the loopback that Python was asked for."""
    lines = (folder / "connections").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.split(" ", 1)[-1] not in LOCAL]


def refused_packets() -> int:
    """Return how many packets this network had no route for, since it was made."""
    count = 0
    for name, key in (("snmp", "OutNoRoutes"), ("snmp6", "Ip6OutNoRoutes")):
        rows = [line.split() for line in Path("/proc/net", name).read_text().splitlines()]
        pairs = zip(*[row for row in rows if row[0] == "Ip:"], strict=True) if name == "snmp" else rows
        count += int(dict(map(tuple, pairs))[key])  # type: ignore[arg-type]
    return count


def main() -> int:
    """Run the program, and write how many packets were refused."""
    report, *program = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:  # the loopback is down at first
        flags = struct.unpack("16sh", fcntl.ioctl(plain, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0)))[1]
        fcntl.ioctl(plain, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))
    before = refused_packets()
    code = subprocess.run(program).returncode
    Path(report).write_text(str(refused_packets() - before), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
