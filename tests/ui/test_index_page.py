"""Every page's address gives a page that says where its server is, and may run the script that does."""

from __future__ import annotations

import base64
import hashlib

from starlette.applications import Starlette
from starlette.testclient import TestClient

from ui import index_page
from ui.guard import security_headers
from ui.pages import PAGES


def test_a_page_looks_for_its_server_where_it_is() -> None:
    client = TestClient(Starlette(routes=index_page.routes()))
    for path in ("/", *(f"/{entry.key}" for entry in PAGES)):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.text.count(f"<script>{index_page.SERVER}</script>") == 1
        assert answer.text.index(index_page.SERVER) < answer.text.index('type="module"')
    digest = base64.b64encode(hashlib.sha256(index_page.SERVER.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in dict(security_headers(index_page.html()))["Content-Security-Policy"]
