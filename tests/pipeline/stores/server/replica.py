"""A server that says it is the primary of a replica set: FerretDB behind a relay that plays transactions.

FerretDB has neither. The relay answers `hello` as a primary does, lets a transaction's changes through one by
one without their transaction fields, and confirms its end. It shows what the driver is told to send, and
refuses what MongoDB refuses within a transaction; taking changes back is MongoDB's own work.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_connection, socket
from typing import Any

import bson

HEADER = struct.Struct("<iiii")  # length, request, response to, operation
OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
SET = "rs0"


class Replica(socketserver.ThreadingTCPServer):
    """The relay; `commands` are those that came, without the driver's own."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, behind: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.behind = behind
        self.commands: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.server_address[1]}/?replicaSet={SET}"

    def answer(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """What the relay says itself; None where FerretDB is asked."""
        name = next(iter(command))
        if name in ("commitTransaction", "abortTransaction", "endSessions"):
            return {"ok": 1.0}
        if "autocommit" in command and ("writeConcern" in command or _reads_otherwise(command)):
            return {"ok": 0.0, "code": 72, "codeName": "InvalidOptions", "errmsg": "concern in transaction"}
        return None

    def as_primary(self, hello: dict[str, Any]) -> dict[str, Any]:
        me = f"127.0.0.1:{self.server_address[1]}"
        return hello | {
            "setName": SET,
            "hosts": [me],
            "me": me,
            "primary": me,
            "setVersion": 1,
            "electionId": bson.ObjectId("7fffffff0000000000000001"),
            "ismaster": True,
            "secondary": False,
        }


def _reads_otherwise(command: dict[str, Any]) -> bool:
    """True where a later command of a transaction has a read concern of its own."""
    return "readConcern" in command and not command.get("startTransaction")


class _Connection(socketserver.BaseRequestHandler):
    server: Replica
    request: socket

    def handle(self) -> None:
        with create_connection(self.server.behind) as behind:
            while message := _receive(self.request):
                self._pass_on(message, behind)

    def _pass_on(self, message: bytes, behind: socket) -> None:
        _, request, _, operation = HEADER.unpack_from(message)
        if operation == OP_QUERY:  # the driver's first hello
            behind.sendall(message)
            reply = _receive(behind)
            hello = self.server.as_primary(bson.decode(reply[36:]))
            _send(self.request, request, OP_REPLY, reply[16:36] + bson.encode(hello))
            return
        command, sequences = _command(message)
        name = next(iter(command))
        if name not in ("hello", "ismaster"):
            self.server.commands.append(dict(command))
        own = self.server.answer(command)
        if own is None:
            if "autocommit" in command:
                command.pop("readConcern", None)
            for field in ("startTransaction", "autocommit", "txnNumber", "lsid", "$clusterTime"):
                command.pop(field, None)
            _send(behind, request, OP_MSG, struct.pack("<I", 0) + b"\0" + bson.encode(command) + sequences)
            own = _command(_receive(behind))[0]
        if name in ("hello", "ismaster"):
            own = self.server.as_primary(own)
        _send(self.request, request, OP_MSG, struct.pack("<I", 0) + b"\0" + bson.encode(own))


@contextmanager
def replica_before(host: str, port: int) -> Iterator[Replica]:
    """A relay before a server, for the block."""
    with Replica((host, port)) as relay:
        thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield relay
        finally:
            relay.shutdown()
            thread.join()


def _receive(connection: socket) -> bytes:
    """One message, or nothing where the connection was closed."""
    head = _exactly(connection, HEADER.size)
    return head + _exactly(connection, HEADER.unpack(head)[0] - HEADER.size) if head else b""


def _exactly(connection: socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        try:
            part = connection.recv(size - len(parts))
        except ConnectionError:
            return b""
        if not part:
            return b""
        parts += part
    return parts


def _send(connection: socket, request: int, operation: int, body: bytes) -> None:
    connection.sendall(HEADER.pack(HEADER.size + len(body), 0, request, operation) + body)


def _command(message: bytes) -> tuple[dict[str, Any], bytes]:
    """The command or reply of a message, and its sequences of documents as they are."""
    start = HEADER.size + 5  # flags, and the kind of the first section, which is the body
    size = struct.unpack_from("<i", message, start)[0]
    return bson.decode(message[start : start + size]), message[start + size :]
