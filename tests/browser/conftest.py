"""A real browser and real servers of the app, over a real index of a few of the manuals."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserType, Page, expect, sync_playwright

from athena.settings import Settings
from tests.browser.pages import PATIENCE_MS, App

ROOT = Path(__file__).parents[2]
MANUALS = (
    "systems/ecs.md",
    "systems/atmosphere-supply.md",
    "procedures/environment.md",
    "reference/alarms-and-codes.md",
)
CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)
SERVE = "from athena.settings import Settings; from ui.launch import serve; serve(Settings(), say=print)"
START_SECONDS = 60
PHONE = 500  # px of width, below which a window is touched
COMPLAINT = re.compile(r".*(?:config option|theme\.|[Dd]eprecat).*")
MISSING = "Chromium is missing. Get it with: apt-get install -y chromium"


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's journeys share a browser and its servers, so one worker has them all."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def chromium(kind: BrowserType) -> str:
    """Debian's Chromium, or Playwright's own; without one, the test fails with the command that helps."""
    candidates = (*CHROMIUM, kind.executable_path)
    found = next((path for path in candidates if Path(path).exists()), None)
    if found is None:
        pytest.fail(MISSING, pytrace=False)
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(playwright.chromium), args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a few manuals indexed, to be copied for each server."""
    from athena import open_athena

    folder = tmp_path_factory.mktemp("indexed")
    corpus = folder / "manuals"
    for name in MANUALS:
        target = corpus / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "docs_corpus" / name, target)
    athena = open_athena(Settings(data_dir=folder / "data", llm="none", cross_encoder="none"))
    report = athena.ingest([corpus])
    athena.close()
    assert len(report.added) == len(MANUALS)
    return folder / "data"


@contextmanager
def serving(data_dir: Path, *, program: str = SERVE, **settings: str) -> Iterator[str]:
    """The app in a process of its own, which runs this Python program; yields its address."""
    port = _free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATHENA_")}
    environment |= {
        "ATHENA_DATA_DIR": str(data_dir),
        "ATHENA_PORT": str(port),
        "ATHENA_CROSS_ENCODER": "none",
    }
    environment |= {f"ATHENA_{name.upper()}": value for name, value in settings.items()}
    environment["PYTHONPATH"] = str(ROOT)
    # Not from the repository: the theme must not depend on the folder that Athena is started in.
    log = (data_dir / "server.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=data_dir, env=environment, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, data_dir / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
        log.close()
    complaints = COMPLAINT.findall((data_dir / "server.log").read_text(errors="replace"))
    assert not complaints, "Streamlit was given something that it does not know"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"the app did not start:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture(scope="session")
def quoting_data(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of `quoting`."""
    data_dir = tmp_path_factory.mktemp("quoting") / "data"
    shutil.copytree(indexed, data_dir)
    return data_dir


@pytest.fixture(scope="session")
def quoting(quoting_data: Path) -> Iterator[str]:
    """The address of an app without a language model, for all tests that leave its documents alone."""
    with serving(quoting_data, llm="none") as address:
        yield address


Opener = Callable[..., App]
WINDOWS = pytest.mark.parametrize(
    "window",
    [{"width": 1280, "height": 800, "dark": False}, {"width": 390, "height": 844, "dark": True}],
    ids=["wide-light", "narrow-dark"],
)
"""Runs a journey at both ends of sizes and themes: `open_app(address, **window)`."""
Window = dict[str, Any]


@pytest.fixture
def open_app(browser: Browser) -> Iterator[Opener]:
    """Opens the app in a browser window of its own; at the end, nothing must have left the machine."""
    opened: list[App] = []

    def open_(
        address: str, *, path: str = "/", width: int = 1280, height: int = 800, dark: bool = False
    ) -> App:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light",
            reduced_motion="reduce", accept_downloads=True, has_touch=width < PHONE,
        )  # fmt: skip
        context.set_default_timeout(PATIENCE_MS)
        page: Page = context.new_page()
        app = App(page, address)
        opened.append(app)
        app.open(path)
        return app

    yield open_
    problems = [problem for app in opened for problem in app.problems()]
    for app in opened:
        app.page.context.close()
    assert not problems
