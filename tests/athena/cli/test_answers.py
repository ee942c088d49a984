"""An answer in a terminal, in a pipe, and in the mission's console."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import RenderableType

from athena.cli.answers import Prose, answer_text, plain_answer
from athena.cli.running import Terminal
from athena.cli.search import search_text
from pipeline.answer import Answer, Answerability, Retrieval
from pipeline.words import CLOSEST
from tests import made_answers as made
from tests.pipeline.passages import make_passage


def text_of(shown: RenderableType, *, width: int = 90, terminal: bool = True) -> str:
    """What a console such as the command line's prints, without colours."""
    stream = io.StringIO()
    Terminal(file=stream, width=width, force_terminal=terminal, color_system=None).print(shown)
    return stream.getvalue()


def printed(answer: Answer, *, width: int = 90, terminal: bool = True) -> list[str]:
    """The lines of an answer."""
    text = text_of(answer_text(answer), width=width, terminal=terminal)
    return [line.rstrip() for line in text.splitlines()]


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_a_terminal_shows_tables_and_lists() -> None:
    lines = printed(made.ANSWERED)
    at = [
        next(number for number, line in enumerate(lines) if text in line)
        for text in (
            "[1] ship.md › Ship › Cabin alarms, line 11",
            "These are all of them:",
            "Code    Meaning",
            "C-103   Cabin fan stopped",
            "[2] ship.md",
            " 2 Open the oxygen valve",
            "• watch the flow",
            "Set the heater to AUTO.",
            "2 more passages:",
            "[4] ship.md › Ship › Console, lines 38-39",
            "Connect one with ollama pull llama3.2.",
            "no model: quotes, 0.2 s",
        )
    ]
    assert at == sorted(at)
    assert "list alarms" not in words(lines)  # folded
    assert "**" not in words(lines)


def test_a_pipe_gets_the_markdown_as_it_is_written() -> None:
    lines = printed(made.ANSWERED, terminal=False)
    table = lines.index("| Code | Meaning | What to do |")
    assert lines[table + 2 : table + 4] == [made.ROWS.quote, "…"]
    assert made.PARAGRAPH.quote in lines  # one line, however long
    assert "3. Set the heater to **AUTO**." in lines


def test_the_closest_passages_are_said_to_be_that() -> None:
    lines = printed(made.CLOSEST)
    assert lines[0] == CLOSEST
    assert lines[-1] == "closest passages, 0.2 s"


def test_a_search_says_what_was_corrected_and_each_verdict() -> None:
    found = Retrieval("fuel cell", (make_passage("a"),), Answerability(0.4, 0.2, sure=0.6), asked="fule cell")
    text = text_of(search_text(found))
    assert text.startswith("Showing results for fuel cell")
    assert "(40%)" in text
    for probability, said in ((0.7, "probably answer"), (0.1, "probably do not answer")):
        judged = replace(found, asked="", answerability=Answerability(probability, 0.2, sure=0.6))
        assert said in text_of(search_text(judged))
        assert "Showing" not in text_of(search_text(judged))


def test_the_missions_console_gets_quotes_without_colours() -> None:
    lines = plain_answer(made.ANSWERED).splitlines()
    assert lines[0] == "[1] ship.md › Ship › Cabin alarms, line 11"
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    assert "No language model" not in "".join(lines)


def test_no_letter_of_code_is_cut_off() -> None:
    code = "E-08 KEY REFUSED: the station hears COM-SBT-1 and does not accept its key. See P-COM-02."
    assert words(text_of(Prose(f"```\n{code}\n```"), width=80).splitlines()) == code
