"""The look at Weaviate's ports: who is there, and who speaks otherwise than its URL says."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from weaviate.exceptions import WeaviateStartUpError

from pipeline.errors import ConfigurationError, StoreUnavailable
from pipeline.stores.server import ServerAddresses
from pipeline.stores.server.weaviate import GRPC, HTTP, WeaviateServer, _make_client, probe, tls_context
from tests.certificates import Authority
from tests.server_processes import free_ports

Answer = Callable[[socket.socket], object]
META = b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\nConnection: close\r\n\r\n{"version": "1.38.0"}'
BROKEN = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@contextmanager
def listening(answer: Answer) -> Iterator[int]:
    """A port on loopback; each connection is answered, then closed."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # closed
                return
            with connection, suppress(OSError):
                answer(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def hang_up(connection: socket.socket) -> None:
    connection.recv(1)


def say_settings(connection: socket.socket) -> None:
    """The first frame of HTTP/2."""
    connection.recv(1024)
    connection.sendall(bytes(3) + b"\x04" + bytes(5))


def speak_tls(authority: Authority, *, address: str = "127.0.0.1") -> Answer:
    context = identified_by(authority, address)
    return lambda connection: context.wrap_socket(connection, server_side=True).close()


def say_version_by_tls(authority: Authority) -> Answer:
    """What Weaviate says of itself by HTTP; the look at the port asks for nothing."""
    context = identified_by(authority, "127.0.0.1")

    def answer(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            if secure.recv(4096):
                secure.sendall(META)

    return answer


def identified_by(authority: Authority, address: str) -> ssl.SSLContext:
    made = authority.sign(address, address=address)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.file, made.key)
    context.set_alpn_protocols([GRPC, HTTP])
    return context


def addresses_of(http: int, grpc: int, *, authority: Authority | None = None) -> ServerAddresses:
    scheme = "https" if authority else "http"
    return ServerAddresses(
        mongodb_url="mongodb://h",
        weaviate_url=f"{scheme}://127.0.0.1:{http}",
        weaviate_grpc_port=grpc,
        weaviate_ca_file=authority.file if authority else None,
    )


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def test_ports_that_speak_as_they_should(authority: Authority) -> None:
    with listening(hang_up) as http, listening(say_settings) as grpc:
        probe(addresses_of(http, grpc))
    answer = speak_tls(authority)
    with listening(answer) as http, listening(answer) as grpc:
        probe(addresses_of(http, grpc, authority=authority))


def test_a_port_without_anybody_is_named() -> None:
    (nobody,) = free_ports(1)
    with (
        listening(hang_up) as http,
        pytest.raises(StoreUnavailable, match=f"port {nobody}: Connection refused"),
    ):
        probe(addresses_of(http, nobody))


def test_a_grpc_port_that_wants_tls_is_told(authority: Authority) -> None:
    with (
        listening(hang_up) as http,
        listening(speak_tls(authority)) as grpc,
        pytest.raises(StoreUnavailable, match=f"port {grpc} hangs up; .*https://"),
    ):
        probe(addresses_of(http, grpc))


def test_a_grpc_port_without_tls_is_told(authority: Authority) -> None:
    with (
        listening(speak_tls(authority)) as http,
        listening(say_settings) as grpc,
        pytest.raises(StoreUnavailable, match=f"port {grpc} does not speak TLS; .*http://"),
    ):
        probe(addresses_of(http, grpc, authority=authority))


@pytest.mark.parametrize("port", ["http", "grpc"])
@pytest.mark.parametrize("why", ["another authority", "another host"])
def test_a_certificate_that_is_not_to_be_trusted(
    authority: Authority, tmp_path: Path, port: str, why: str
) -> None:
    good = speak_tls(authority)
    stranger = Authority(tmp_path / "stranger")
    bad = speak_tls(stranger) if why == "another authority" else speak_tls(authority, address="10.0.0.1")
    with (
        listening(bad if port == "http" else good) as http,
        listening(bad if port == "grpc" else good) as grpc,
        pytest.raises(StoreUnavailable, match=r"not trusted.*ATHENA_WEAVIATE_CA_FILE") as caught,
    ):
        probe(addresses_of(http, grpc, authority=authority))
    assert f"port {http if port == 'http' else grpc}: " in str(caught.value)


def test_the_client_trusts_the_given_authority_and_no_other(authority: Authority, tmp_path: Path) -> None:
    """By a private place of the client's: a new release of it may need another."""
    with listening(say_version_by_tls(authority)) as http, listening(speak_tls(authority)) as grpc:
        with closing(WeaviateServer(addresses_of(http, grpc, authority=authority))) as server:
            assert server.version() == "1.38.0"
        stranger = addresses_of(http, grpc, authority=Authority(tmp_path / "stranger"))
        with closing(_make_client(stranger)) as client, pytest.raises(WeaviateStartUpError):
            client.connect()


def test_a_server_that_is_too_busy_to_greet_is_no_error(authority: Authority) -> None:
    done = threading.Event()
    with listening(lambda _: done.wait(60)) as http, listening(lambda _: done.wait(60)) as grpc:
        started = time.monotonic()
        probe(addresses_of(http, grpc), greeting_s=0.05)
        probe(addresses_of(http, grpc, authority=authority), greeting_s=0.05)
        assert time.monotonic() - started < 20
        done.set()


def test_each_protocol_has_a_context_of_its_own(authority: Authority) -> None:
    """Who connects by one changes it, and must not change it for the other."""
    addresses = addresses_of(1, 2, authority=authority)
    assert tls_context(addresses, HTTP) is tls_context(addresses, HTTP)
    assert tls_context(addresses, HTTP) is not tls_context(addresses, GRPC)


@pytest.mark.parametrize("content", [None, b"", b"no certificate", b"\xff\xfe", BROKEN, "folder"])
def test_an_authority_that_is_no_certificate_file(tmp_path: Path, content: bytes | str | None) -> None:
    file = tmp_path / "ca.pem"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content:
        file.mkdir()
    addresses = ServerAddresses(mongodb_url="mongodb://h", weaviate_url="https://h", weaviate_ca_file=file)
    with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_CA_FILE names") as caught:
        tls_context(addresses, HTTP)
    assert str(file) in str(caught.value) and "in PEM" in caught.value.fix
