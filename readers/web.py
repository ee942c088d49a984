"""Web pages as files: fetched when somebody asks, converted to Markdown, and named by their address.

What is asked for may come from anybody who reaches a server of ours, and must not lead it to machines that
only it can reach: the name is looked up here, each of its numbers is checked, and the connection goes to the
one that was checked. So it is for each redirect.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from readers.converting.converter import FileConverter
from readers.errors import FetchStopped, ReaderError
from readers.files import FileLimits, decoded
from readers.formats import FORMATS, MARKDOWN, Format, format_of

SECONDS = 30.0
"""What fetching a page may take, from the first connection to the last byte."""
SILENCE = 10.0
"""Seconds without a byte."""
MOST_REDIRECTS = 5
MOST_NUMBERS = 3
"""Of a host, that are tried one after the other."""
LOOKS_EVERY = 0.1
"""Seconds: how late a hang-up may come."""
OPENED = ("connect_tcp.complete", "start_tls.complete")
AGENT = "athena-docs"
TYPES = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "md",
    "text/x-markdown": "md",
    "text/plain": "txt",
    "text/x-rst": "rst",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}
"""The content types that are taken, and the format that each is."""
UNTYPED = ("", "application/octet-stream")
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses of IPv4 for machines that speak IPv6 alone (RFC 6052)."""
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All that the public internet has of IPv6 (RFC 4291). Some versions of Python call ::/96, 64:ff9b:1::/48 and
fec0::/10 global, too: they may lead into networks of ours."""
LONGEST_PART = 60  # characters of a part of a file's name, which has 255 bytes
MOST_FOLDERS = 20

_BY_NAME = {known.name: known for known in FORMATS}
_UNUSUAL = re.compile(r"[^\w.+-]+")
_PAGE = re.compile(r"\.md$")
_NO_ADDRESS = (httpx.InvalidURL, ValueError)
"""What httpx raises for an address that cannot be one: a host's name is decoded when it is read."""


class PageFetcher:
    """Fetches pages into a folder, by address; what converts them ends with the `with` block.

    `should_stop` is asked again and again while a page comes, from another thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        max_characters: int,
        local: bool,
        convert_seconds: float,
        seconds: float = SECONDS,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._local = local
        self._converter = FileConverter(FileLimits(max_characters, max_bytes), seconds=convert_seconds)
        self._seconds = seconds
        self._should_stop = should_stop or (lambda: False)
        # Each request opens a connection: hanging up knows those alone, and a certificate is checked then.
        self._client = httpx.Client(
            trust_env=False,
            timeout=SILENCE,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        self._converter.close()

    def fetch(self, address: str) -> Path:
        """Fetch a page, and keep it as Markdown in the place of what was fetched from there before.

        Raises:
            FetchStopped: somebody asked to stop.
            ReaderError: it may not be fetched, cannot be, or is of no format that is read.
        """
        with HangUp(address, seconds=self._seconds, should_stop=self._should_stop) as hang_up:
            url, kind, data = self._fetched(address, hang_up)
        path = self._folder / file_name(url)
        if kind is MARKDOWN:
            text = decoded(data, source=address)
        else:
            text = self._converter.text(data, kind, source=address, address=str(url))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            reason = f"it cannot be kept as '{path}': {error.strerror or error}"
            raise ReaderError(address, reason=reason, fix="Make room, or name another page.") from error
        return path

    def _fetched(self, address: str, hang_up: HangUp) -> tuple[httpx.URL, Format, bytes]:
        """The address that answered in the end, the format, and the bytes."""
        url = _parsed(address, address)
        for _ in range(MOST_REDIRECTS + 1):
            numbers = _checked(url, address, local=self._local)
            try:
                response = self._asked(url, numbers, hang_up)
                try:
                    if not response.has_redirect_location:
                        return url, _format(response, url, address), self._body(response, address, hang_up)
                    url = _redirected(url, response, address)
                finally:
                    response.close()
            except _NO_ADDRESS as error:  # httpx reads a redirect's, too, though it does not follow it
                raise _no_target(address) from error
            except httpx.HTTPError as error:
                hang_up.check()
                reason = f"it cannot be fetched: {str(error) or type(error).__name__}"
                raise ReaderError(address, reason=reason, fix="Check the address.") from error
        raise ReaderError(address, reason="it redirects without end", fix="Check the address.")

    def _asked(self, url: httpx.URL, numbers: Sequence[str], hang_up: HangUp) -> httpx.Response:
        """The beginning of an answer, from the first of the host's numbers that can be reached."""
        for number in numbers[:-1]:
            hang_up.check()
            try:
                return self._client.send(_request(url, number, hang_up), stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        hang_up.check()
        return self._client.send(_request(url, numbers[-1], hang_up), stream=True)

    def _body(self, response: httpx.Response, address: str, hang_up: HangUp) -> bytes:
        """All bytes, as many as are allowed, in the time that is left."""
        data = bytearray()
        for piece in response.iter_raw():
            data += piece
            if len(data) > self._max_bytes:
                reason = f"it has more than {self._max_bytes / 1_000_000:g} MB"
                raise ReaderError(address, reason=reason, fix="Raise ATHENA_MAX_CONVERTED_MB.")
        hang_up.check()
        return bytes(data)


class HangUp:
    """Watches the connections of the `with` block from a thread of its own, which also calls `should_stop`.

    httpx limits each silence only, and a server that drips its headers, or says "100 Continue" for ever, is
    never silent. Closing a client wakes no thread that waits for a byte; shutting its socket down does.
    """

    def __init__(self, address: str, *, seconds: float, should_stop: Callable[[], bool]) -> None:
        self._address = address
        self._seconds = seconds
        self._should_stop = should_stop
        self._until = time.monotonic() + seconds
        self._streams: list[Any] = []
        self._error: ReaderError | None = None
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="athena-fetch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._thread.join()

    def note(self, event: str, info: dict[str, Any]) -> None:
        """Keep each socket that is opened: for httpx, as its extension `trace`."""
        if event.endswith(OPENED):
            self._streams.append(info["return_value"])
            if self._error:
                _shut_down(info["return_value"])

    def check(self) -> None:
        """Raise `FetchStopped` or `ReaderError` where it is over: what came reads as if it were all."""
        self._error = self._error or self._reason()
        if self._error:
            raise self._error

    def _watch(self) -> None:
        while not self._left.wait(LOOKS_EVERY):
            self._error = self._error or self._reason()
            if self._error:  # known before looking: `note` keeps before it looks, so that one of both sees it
                for stream in self._streams:
                    _shut_down(stream)
                return

    def _reason(self) -> ReaderError | None:
        if self._should_stop():
            return FetchStopped(self._address, reason="somebody asked to stop", fix="Name it again.")
        if time.monotonic() > self._until:
            reason = f"fetching it takes longer than {self._seconds:g} seconds"
            return ReaderError(self._address, reason=reason, fix="Download it, and add the file.")
        return None


def _shut_down(stream: Any) -> None:
    with contextlib.suppress(OSError):  # it may have ended by itself
        # The plain socket's method also for TLS: the TLS one would touch state that the reader is using.
        socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)


def file_name(url: httpx.URL) -> str:
    """A page's name in the index: its host and path; a hash follows where another page's would be the same.

    Always Markdown, never hidden, and no folder has the name of a page.
    """
    *parts, last = (_UNUSUAL.sub("-", part).strip("-.")[:LONGEST_PART] for part in url.path.split("/")[1:])
    folders = [_PAGE.sub("-md", part) for part in parts if part][:MOST_FOLDERS]
    host = f"{url.host}-{url.port}" if url.port else url.host
    name = last or "index"
    path = "/".join(["", *folders, last])
    is_exact = quote(path, safe="/+").encode() == url.raw_path and last != "index" and ":" not in host
    if not is_exact:
        name += "-" + hashlib.sha256(url.netloc + url.raw_path).hexdigest()[:8]
    return PurePosixPath(_UNUSUAL.sub("-", host), *folders, f"{name}.md").as_posix()


def _parsed(text: str, address: str) -> httpx.URL:
    try:
        url = httpx.URL(text.strip())
        host = url.host
    except _NO_ADDRESS as error:
        raise ReaderError(address, reason=f"no web address: {error}", fix="Check the address.") from error
    if url.scheme not in ("http", "https") or not host:
        raise ReaderError(
            address, reason="no web address", fix="Begin it with https:// or http:// and a host."
        )
    if url.userinfo:
        raise ReaderError(address, reason="it has a password in it", fix="Download it, and add the file.")
    return url.copy_with(fragment=None)


def _redirected(url: httpx.URL, response: httpx.Response, address: str) -> httpx.URL:
    """Where a page has moved to; from an encrypted one to an encrypted one only."""
    try:
        target = url.join(response.headers["location"])
    except _NO_ADDRESS as error:
        raise _no_target(address) from error
    if url.scheme == "https" and target.scheme != "https":
        raise ReaderError(address, reason="it redirects to a page without encryption", fix="Name that page.")
    return _parsed(str(target), address)


def _no_target(address: str) -> ReaderError:
    return ReaderError(address, reason="it redirects to no address", fix="Check the address.")


def _checked(url: httpx.URL, address: str, *, local: bool) -> list[str]:
    """The numbers that the host's name stands for; raises `ReaderError` where one is of a network of ours."""
    try:
        found = socket.getaddrinfo(url.host, url.port or 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = f"no host is called '{url.host[:100]}'"
        raise ReaderError(address, reason=reason, fix="Check the address.") from error
    numbers = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))[:MOST_NUMBERS]
    if not local and not all(map(is_public, numbers)):
        raise ReaderError(
            address,
            reason="it is on this machine or in its network, from which nothing is fetched",
            fix="Download the page and add the file, or set ATHENA_FETCH_LOCAL=true.",
        )
    return numbers


def is_public(number: str) -> bool:
    """Whether an IP address is one of the public internet; one of IPv4 within IPv6 counts as what it is."""
    address = ipaddress.ip_address(number)
    if isinstance(address, ipaddress.IPv6Address):
        if address in TRANSLATED:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        else:
            address = address.ipv4_mapped or address.sixtofour or address
    if address.version == 6 and address not in GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast


def _request(url: httpx.URL, number: str, hang_up: HangUp) -> httpx.Request:
    """A request that goes to the number that was checked, in the host's name."""
    return httpx.Request(
        "GET",
        url.copy_with(host=number),
        headers={
            "Host": url.netloc.decode("ascii"),
            "Accept": "text/html, text/markdown, text/plain, application/pdf, */*;q=0.5",
            "Accept-Encoding": "identity",
            "User-Agent": AGENT,
        },
        extensions={
            "sni_hostname": url.raw_host.decode("ascii"),
            "timeout": httpx.Timeout(SILENCE).as_dict(),
            "trace": hang_up.note,
        },
    )


def _format(response: httpx.Response, url: httpx.URL, address: str) -> Format:
    """What a page is, by its type and then by its name; raises `ReaderError` where it is nothing for us."""
    if not response.is_success:
        reason = f"the server answers {response.status_code} {response.reason_phrase}".rstrip()
        raise ReaderError(address, reason=reason, fix="Check the address.")
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        reason = "it is sent compressed, which was not asked for"
        raise ReaderError(address, reason=reason, fix="Download it, and add the file.")
    sent = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    by_name = format_of(url.path)
    if by_name and sent in (*UNTYPED, "text/plain"):
        return by_name
    if sent not in TYPES:
        reason = f"it is of the type '{sent[:60]}'" if sent else "it does not say what it is"
        raise ReaderError(address, reason=reason, fix="Name a page of text, a PDF or a DOCX.")
    return _BY_NAME[TYPES[sent]]
