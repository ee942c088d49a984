"""A folder a page: what they share knows no page, and a session's memory has one door."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.test_architecture import NAMES, ROOT, imported_modules
from ui.pages import PAGES

PAGES_ROOMS = ("chat", "mission", "inspector", "documents", "memory", "settings")
MAY_KNOW = {
    "shared": {"shared", "pages"},
    "conversation": {"conversation", "shared"},
    **{page: {page, "conversation", "shared"} for page in PAGES_ROOMS},
}


@pytest.mark.parametrize("room", MAY_KNOW)
def test_a_room_knows_only_what_is_shared(room: str) -> None:
    files = [name for name in NAMES if name.startswith(f"ui/{room}/")]
    known = {
        module.split(".")[1] for name in files for module in imported_modules(name) if module[:3] == "ui."
    }
    assert files
    assert known <= MAY_KNOW[room]


def test_session_state_is_touched_in_one_place() -> None:
    touching = [name for name in NAMES if "session_state" in _code(name)]
    assert touching == ["ui/shared/state.py"]


def _code(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8") if name.startswith("ui/") else ""


def test_every_page_can_be_imported() -> None:
    for entry in PAGES:
        module, _, function = entry.drawn_by.partition(":")
        assert callable(getattr(import_module(module, "ui"), function))
