"""A real index of two small files, and the app over it, run in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from athena import Athena, open_athena
from athena.settings import Settings
from pipeline.answer import Answer, Citation
from ui.conversation.runner import runner
from ui.shared import process
from ui.shared.state import SharedState

ROOT = Path(__file__).parents[2]
VALVES = """# Valves

## LN2 tank

The LN2 tank shows OFFLINE when its switch is off. Close CB-4 first.

| State | Meaning |
|---|---|
| OFFLINE | no power |
"""
CREW = "# Crew\n\n## Sleep\n\nThe crew sleeps for seven hours.\n"


@pytest.fixture(scope="session", autouse=True)
def components_found_once() -> Iterator[None]:
    """Each run of a page looks for components in all packages that are installed: longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        found = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found)
        yield


_used: list[Athena] = []


@pytest.fixture(autouse=True)
def served_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages show the Athena of the last call of `use`."""
    monkeypatch.setattr(process, "opened", lambda: _used[-1])
    monkeypatch.setattr(process, "_served_with", [])


def use(athena: Athena) -> None:
    """Let the pages show this Athena until the test ends."""
    _used[:] = [athena]
    process.use_settings(athena.settings)


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    """Athena without a language model, over two files."""
    manuals = tmp_path / "manuals"
    manuals.mkdir()
    (manuals / "valves.md").write_text(VALVES, encoding="utf-8")
    (manuals / "crew.md").write_text(CREW, encoding="utf-8")
    opened = open_athena(Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none"))
    opened.ingest([manuals])
    yield opened
    opened.close()


@pytest.fixture
def empty_athena(tmp_path: Path) -> Iterator[Athena]:
    """Athena with nothing indexed."""
    opened = open_athena(Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none"))
    yield opened
    opened.close()


@pytest.fixture
def run_app() -> Iterator[Callable[..., AppTest]]:
    """Runs a page of the app over an Athena; what the process caches is forgotten before and after."""

    def run(athena: Athena, *, page: str = "", **query: str) -> AppTest:
        app = AppTest.from_string(PAGE.format(page=page or "chat"), default_timeout=120)
        use(athena)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    _forget()
    yield run
    _forget()


PAGE = """
import streamlit as st
from ui import app, pages
from ui.shared import links
offered = app.offered_pages()
links.offer(offered)
st.navigation(list(offered.values()))
app.draw(next(entry for entry in pages.PAGES if entry.key == "{page}"))
"""


def asked(app: AppTest, question: str) -> str:
    """Ask in the open conversation, wait for the answer, and return the conversation's id."""
    app.chat_input[0].set_value(question).run()
    assert not app.exception
    conversation = str(app.session_state[SharedState.__name__].conversation)
    run = runner().of(conversation)
    assert run is not None and run.wait(60)
    app.run()
    assert not app.exception
    return conversation


def until(holds: Callable[[], bool]) -> bool:
    """Wait for up to ten seconds; return whether it came to hold."""
    return any(holds() or threading.Event().wait(0.05) for _ in range(200))


def words(app: AppTest) -> str:
    """All texts that the page shows, as they are read."""
    return texts(app).replace("\\", "")


def _forget() -> None:
    st.cache_resource.clear()


def quoted(
    text: str, quote: str, *, marker: int = 1, path: tuple[str, ...] = ("Valves", "LN2 tank")
) -> Citation:
    """A citation of a quote in `valves.md` as it was indexed."""
    start, section = text.index(quote), text.index("The LN2")
    line = text.count("\n", 0, start) + 1
    return Citation(
        marker=marker,
        source="valves.md",
        heading_path=path,
        start=start,
        end=start + len(quote),
        start_line=line,
        end_line=line,
        quote=quote,
        file_hash="f",
        section_text=text[section:],
        section_start=section,
    )


def answered(question: str = "Why is it OFFLINE?", **changes: object) -> Answer:
    """An answer in quote mode with one citation."""
    made: dict[str, object] = {
        "question": question,
        "condensed_question": question,
        "text": "…",
        "mode": "quote",
        "model": "",
        "abstained": False,
        "citations": (quoted(VALVES, "The LN2 tank shows OFFLINE when its switch is off."),),
    }
    return Answer(**(made | changes))  # type: ignore[arg-type]


def component_data(app: AppTest, name: str) -> list[dict[str, Any]]:
    """The data of every mounted component of a name, in order."""
    found = []
    for node in _walk(app._tree):
        proto = getattr(node, "proto", None)
        if proto is not None and getattr(proto, "component_name", "") == f"athena_{name}":
            found.append(json.loads(proto.json))
    return found


def _walk(node: Any) -> Any:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from _walk(child)


def texts(app: AppTest) -> str:
    """All texts that the page shows, a line each."""
    kinds = (
        app.text,
        app.caption,
        app.markdown,
        app.header,
        app.warning,
        app.error,
        app.info,
        app.success,
        app.toast,
    )
    return "\n".join(str(element.value) for kind in kinds for element in kind)
