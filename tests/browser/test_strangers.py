"""Another site can neither rebind its name to the app nor show its pages in a frame."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import FLAGS, chromium

pytestmark = pytest.mark.browser


def test_a_rebound_name_reads_nothing(quoting: str, browser: Browser) -> None:
    port = urlsplit(quoting).port
    rebinding = [*FLAGS, "--host-resolver-rules=MAP evil.test 127.0.0.1"]
    opened = browser.browser_type.launch(executable_path=chromium(browser.browser_type), args=rebinding)
    page = opened.new_page()
    answer = page.goto(f"http://evil.test:{port}/")
    assert answer is not None
    assert answer.status == 403
    assert "ATHENA_ALLOWED_HOSTS" in page.inner_text("body")
    opened.close()


def test_a_page_of_another_port_opens_no_websocket_and_frames_nothing(
    quoting: str, tmp_path: Path, browser: Browser
) -> None:
    stream = quoting.replace("http", "ws") + "/_stcore/stream"
    (tmp_path / "index.html").write_text(
        f"<iframe src='{quoting}/documents'></iframe><p id='out'>waiting</p><script>"
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
