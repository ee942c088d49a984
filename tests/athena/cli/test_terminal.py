"""No text of a document, a name or a server gives orders to a terminal."""

from __future__ import annotations

import io
import json
import logging

import pytest
from rich.text import Text

from athena.cli import Lines
from athena.cli.answers import Prose
from athena.cli.running import Terminal, print_json
from pipeline.words import NOTICES, harmless

TITLE = "\x1b]0;owned\x07"
ERASE = "\x9b2J\x1b[2J"


def printed(*what: object, markup: bool = False) -> str:
    stream = io.StringIO()
    Terminal(file=stream, force_terminal=True, color_system=None).print(*what, markup=markup)
    return stream.getvalue()


@pytest.mark.parametrize("what", [f"a{TITLE}b{ERASE}", Text(f"a{TITLE}b{ERASE}"), Prose(f"a{TITLE}b{ERASE}")])
def test_control_characters_are_shown(what: object) -> None:
    text = printed(what)
    assert not set(text) & {"\x1b", "\x07", "\x9b"}
    assert "␛" in text
    assert harmless("a\tb\n\r\x7f") == "a\tb\n␍␡", "lines and tabs stay"


def test_the_log_gives_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().emit(logging.LogRecord("readers", logging.INFO, "", 0, "skipped %s", (TITLE,), None))
    assert capsys.readouterr().err == "INFO readers: skipped ␛]0;owned␇\n"
    Lines().emit(logging.LogRecord(NOTICES, logging.WARNING, "", 0, "A word: %s", ("fan",), None))
    assert capsys.readouterr().err == "A word: fan\n"


def test_json_has_no_control_character_either(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": f"{TITLE}\x9b\x7f"})
    line = capsys.readouterr().out
    assert not set(line) & set("\x1b\x9b\x7f\x07")
    assert json.loads(line) == {"name": f"{TITLE}\x9b\x7f"}
