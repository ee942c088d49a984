"""Web pages from a server of the test's own: fetched, named, bounded; those of this machine are refused."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from readers.converting.converted import address_of, conversion_of
from readers.errors import ReaderError
from readers.web import PageFetcher, file_name
from tests.certificates import Authority
from tests.loopback import LoopbackServer

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Site:
    """What a server answers by path, and what it was asked."""

    address: str = ""
    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)


def handler_of(site: Site) -> type[BaseHTTPRequestHandler]:
    """What answers for a site."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, body = site.pages.get(self.path, (404, {}, b"no"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    site = Site()
    with LoopbackServer(handler_of(site)) as listening:
        site.address = f"http://localhost:{listening.port}"
        yield site


@pytest.fixture
def site(server: Site) -> Site:
    server.pages.clear()
    server.asked.clear()
    return server


@pytest.fixture
def fetcher(tmp_path: Path) -> Iterator[PageFetcher]:
    with PageFetcher(
        tmp_path / "web", max_bytes=2_000, max_characters=10_000, local=True, convert_seconds=30
    ) as made:
        yield made


def test_a_page_becomes_a_file_under_its_address(fetcher: PageFetcher, site: Site, tmp_path: Path) -> None:
    site.pages["/docs/fan.txt?v=2"] = (200, {"Content-Type": "text/plain; charset=utf-8"}, b"The fan hums.")
    path = fetcher.fetch(f"{site.address}/docs/fan.txt?v=2#top")
    host = site.address.removeprefix("http://").replace(":", "-")
    name = path.relative_to(tmp_path / "web").as_posix()
    assert name.startswith(f"{host}/docs/fan.txt-") and name.endswith(".md")
    text = path.read_text(encoding="utf-8")
    assert "The fan hums." in text
    made = conversion_of(text)
    assert made is not None
    assert (made.format, address_of(text)) == ("plain text", f"{site.address}/docs/fan.txt?v=2")
    (asked,) = site.asked
    assert asked["host"] == site.address.removeprefix("http://")  # though the connection goes to the number
    assert asked["accept-encoding"] == "identity"
    assert "cookie" not in asked


def test_markdown_stays_as_it_is_and_is_replaced_when_it_is_fetched_again(
    fetcher: PageFetcher, site: Site
) -> None:
    for text in (b"# Fan\n\nIt hums.\n", b"# Fan\n\nIt is silent.\n"):
        site.pages["/README.md"] = (200, {"Content-Type": "text/plain"}, text)
        assert fetcher.fetch(f"{site.address}/README.md").read_bytes() == text


@pytest.mark.slow  # a process converts
def test_html_is_converted_and_its_links_lead_where_they_led(fetcher: PageFetcher, site: Site) -> None:
    pytest.importorskip("markdownify", reason="the extra [files] is not installed")
    page = (
        b"<title>Fans</title><h1>Fans</h1><p>See <a href='parts'>the parts</a> <a href='http://['>x</a>.</p>"
    )
    site.pages["/docs/"] = (200, {"Content-Type": "text/html"}, page)
    site.pages["/old"] = (301, {"Location": "/docs/"}, b"")
    path = fetcher.fetch(f"{site.address}/old")
    assert path.parts[-2:] == ("docs", "index.md")
    assert f"[the parts]({site.address}/docs/parts)" in path.read_text(encoding="utf-8")


REFUSED: dict[str, tuple[Answer, str]] = {
    "missing": ((404, {}, b""), "the server answers 404 Not Found"),
    "a picture": ((200, {"Content-Type": "image/png"}, b"x"), "it is of the type 'image/png'"),
    "nothing said": ((200, {}, b"x"), "it does not say what it is"),
    "too large": ((200, {"Content-Type": "text/plain"}, b"x" * 2_001), "it has more than 0.002 MB"),
    "compressed": (
        (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, b"x"),
        "it is sent compressed",
    ),
    "a circle": ((302, {"Location": "/page"}, b""), "it redirects without end"),
    "another scheme": ((302, {"Location": "file:///etc/passwd"}, b""), "no web address"),
    "a script": ((302, {"Location": "javascript:1"}, b""), "no web address|redirects to no address"),
    "no name": ((302, {"Location": "http://xn--/"}, b""), "no web address|redirects to no address"),
    "not text": ((200, {"Content-Type": "text/plain"}, b"\xff\xfe"), "not UTF-8"),
    "nothing": ((200, {"Content-Type": "text/plain"}, b"  "), "the file is empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_page_is_refused_with_its_reason(
    fetcher: PageFetcher, site: Site, case: str, tmp_path: Path
) -> None:
    site.pages["/page"], reason = REFUSED[case]
    with pytest.raises(ReaderError, match=reason):
        fetcher.fetch(f"{site.address}/page")
    assert not list(tmp_path.rglob("*.md"))


@pytest.mark.parametrize(
    "address", ["http://", "https://user:pass@a.org/", "http://[::1", "ftp://a/b", "http://xn--/"]
)
def test_what_is_no_address_is_refused(fetcher: PageFetcher, address: str) -> None:
    with pytest.raises(ReaderError, match=r"no web address|a password in it"):
        fetcher.fetch(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"])
def test_this_machine_and_its_network_are_asked_only_where_that_is_set(
    site: Site, host: str, tmp_path: Path
) -> None:
    port = site.address.rpartition(":")[2]
    with (
        PageFetcher(tmp_path, max_bytes=1, max_characters=1, local=False, convert_seconds=1) as careful,
        pytest.raises(ReaderError, match="ATHENA_FETCH_LOCAL"),
    ):
        careful.fetch(f"http://{host}:{port}/")
    assert site.asked == []


def test_a_redirect_to_this_machine_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page outside that sends on to the inside: only the first of the two hosts counts as public here."""
    site.pages["/page"] = (302, {"Location": "http://127.0.0.1:9/admin"}, b"")
    numbers: list[str] = []

    def public(number: str) -> bool:
        numbers.append(number)
        return len(numbers) == 1

    monkeypatch.setattr("readers.web.is_public", public)
    monkeypatch.setattr("readers.web.socket.getaddrinfo", _first_of(socket.getaddrinfo))
    with (
        PageFetcher(tmp_path, max_bytes=1, max_characters=1, local=False, convert_seconds=1) as careful,
        pytest.raises(ReaderError, match="ATHENA_FETCH_LOCAL"),
    ):
        careful.fetch(f"{site.address.replace('localhost', '127.0.0.1')}/page")
    assert len(numbers) == 2


def _first_of(look_up: object) -> object:
    return lambda *given, **options: look_up(*given, **options)[:1]  # type: ignore[operator]


def test_the_certificate_is_that_of_the_name_and_not_of_the_number(site: Site, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    certificate = authority.sign("server")  # for 127.0.0.1, and not for "localhost"
    site.pages["/page"] = (200, {"Content-Type": "text/markdown"}, b"# Fan")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    with (
        LoopbackServer(handler_of(site), tls=context) as listening,
        PageFetcher(
            tmp_path / "web", max_bytes=99, max_characters=99, local=True, convert_seconds=1
        ) as fetcher,
    ):
        fetcher._client.close()
        trusted = ssl.create_default_context(cafile=authority.file)
        fetcher._client = httpx.Client(verify=trusted, trust_env=False)
        assert fetcher.fetch(f"https://127.0.0.1:{listening.port}/page").read_text() == "# Fan"
        with pytest.raises(ReaderError, match="certificate verify failed"):
            fetcher.fetch(f"https://localhost:{listening.port}/page")


@pytest.mark.parametrize(
    "paths",
    [
        ("/wiki/C", "/wiki/C*", "/wiki/C-", "/wiki/C#", "/wiki/C%23"),
        ("/wiki/NET", "/wiki/.NET"),
        ("/a-b", "/a~b", "/a%7Eb", "/a%20b", "/a%25b"),
        ("/x", "/x/", "/x//", "//x", "/x/index", "/x.md", "/x.md/"),
        ("/", "/index", "/index.md", "/?", "/?a"),
        ("/a/b", "/a%2Fb", "/a%252Fb", "/a//b"),
        ("/" + "𠮷" * 60, "/" + "𠮷" * 61, "/" + "𠮷" * 62),
        ("/b" * 21, "/b" * 22, "/b" * 23),
        ("/a?id=0", "/a?id=1", "/a?id=2"),
    ],
)
def test_no_page_takes_the_name_of_another(paths: tuple[str, ...]) -> None:
    pages = {httpx.URL(f"https://example.org{path}").copy_with(fragment=None) for path in paths}
    names = {file_name(page) for page in pages}
    assert len(names) == len({page.raw_path for page in pages})


def test_no_host_takes_the_names_of_another() -> None:
    hosts = ("[2606:4700::1111]", "[2606:4700:1111::]", "example.org", "example.org:81")
    assert len({file_name(httpx.URL(f"https://{host}/a")) for host in hosts}) == len(hosts)


def test_a_page_lies_beside_the_pages_below_it(fetcher: PageFetcher, site: Site) -> None:
    paths = ("/x", "/x/", "/x/y", "/x.md", "/x.md/y", "/x.md.md/y", "/" + "%F0%A0%AE%B7" * 99)
    for path in paths:
        site.pages[path] = (200, {"Content-Type": "text/markdown"}, path.encode())
    fetched = [fetcher.fetch(site.address + path) for path in paths]
    assert [path.read_text() for path in fetched] == list(paths)


def test_a_number_that_does_not_answer_is_followed_by_the_next(
    fetcher: PageFetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/page"] = (200, {"Content-Type": "text/markdown"}, b"# Fan")
    port = int(site.address.rpartition(":")[2])
    look_up = socket.getaddrinfo

    def looked_up(host: str, *given: object, **options: object) -> list[object]:
        numbers = ("127.0.0.9", "127.0.0.1") if host == "fans.example" else (host,)
        return [entry for number in numbers for entry in look_up(number, *given, **options)]  # type: ignore[arg-type]

    monkeypatch.setattr("readers.web.socket.getaddrinfo", looked_up)
    assert fetcher.fetch(f"http://fans.example:{port}/page").read_text() == "# Fan"
