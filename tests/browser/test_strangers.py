"""Another site can neither rebind its name to the app nor show its pages in a frame."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import FLAGS, chromium, serving
from tests.browser.pages import App

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(indexed: Path) -> Iterator[str]:
    with serving(indexed, llm="none") as url:
        yield url


def test_a_rebound_name_reads_nothing(address: str, browser: Browser) -> None:
    port = urlsplit(address).port
    rebinding = [*FLAGS, "--host-resolver-rules=MAP evil.test 127.0.0.1"]
    opened = browser.browser_type.launch(executable_path=chromium(browser.browser_type), args=rebinding)
    page = opened.new_page()
    answer = page.goto(f"http://evil.test:{port}/")
    assert answer is not None
    assert answer.status == 403
    assert "ATHENA_ALLOWED_HOSTS" in page.inner_text("body")
    opened.close()


def test_a_page_of_another_port_opens_no_websocket_and_frames_nothing(
    address: str, tmp_path: Path, browser: Browser
) -> None:
    stream = address.replace("http", "ws") + "/_stcore/stream"
    (tmp_path / "index.html").write_text(
        f"<iframe src='{address}/documents'></iframe><p id='out'>waiting</p><script>"
        f"const socket = new WebSocket('{stream}', ['streamlit']);"
        "socket.onopen = () => out.textContent = 'opened';"
        "socket.onerror = () => out.textContent = 'refused';"
        "</script>"
    )
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("document.getElementById('out').textContent !== 'waiting'")
        assert page.inner_text("#out") == "refused"
        assert "Athena" not in page.frames[1].content()
        page.close()
        server.shutdown()


def test_nothing_is_fetched_from_elsewhere_and_no_policy_is_broken(address: str, browser: Browser) -> None:
    page = browser.new_page()
    elsewhere: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url))
    page.on("console", lambda said: complaints.append(said.text))
    app = App(page, address)
    for path in ("/", "/documents", "/inspector"):
        app.open(path)
    page.close()
    assert not [url for url in elsewhere if not url.startswith((address, "data:", "blob:"))]
    assert not [text for text in complaints if "Content Security Policy" in text]
