"""The manuals against the one part list: names, values, commands, codes, limits; links and questions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from evals.datasets import load_qrels, load_queries
from evals.judging import contains
from mission.commands import Refused
from mission.console import act
from mission.ship import SHIP_FILE, the_ship
from mission.state import sound_state
from tests.manuals import CORPUS, DATA, PART_ID, QUESTIONS, sections, sources

ROOT = Path(__file__).resolve().parent.parent
STRANGERS = ("manuals/dev", "manuals/test", "missions/dev", "missions/test", "missions/hurry")
LIST: dict[str, Any] = tomllib.loads(SHIP_FILE.read_text(encoding="utf-8"))
SHIP = the_ship()

MARKDOWN = MarkdownIt("commonmark").enable("table")
CODE = re.compile(r"\b[CWFE]-\d{2,3}\b")
PROCEDURE = re.compile(r"\bP-[A-Z]{3}-\d{2}\b")
CAPITALS = re.compile(r"(?<![\w-])[A-Z][A-Z0-9_]+(?![\w-])")
# Words in capitals that are of English or of engineering, not of the console.
ABBREVIATIONS = {"CO2", "IMU", "LN2", "LOX", "RCS", "VHF", "OUT", "OF", "LIMITS", "UNKNOWN"}
TITLE_WORDS = {"alarms", "self_test_codes", "console_errors"}


IDS = set(SHIP.ids)
SYSTEMS = set(SHIP.systems)
CODES = {row["code"] for name in TITLE_WORDS for row in LIST[name]}
PROCEDURES = {procedure["id"] for procedure in LIST["procedures"]}
STATUSES = {status["id"] for status in LIST["statuses"]}
KEYS = {key for ident in IDS for key in (*SHIP.settings_of(ident), *SHIP.telemetry_of(ident))}
VALUES = {value for ident in IDS for s in SHIP.settings_of(ident).values() for value in s.values}
MISTYPED = ("E-01", "E-02", "E-03", "E-04")  # the other errors depend on the state of the ship


def command_fault(line: str) -> str | None:
    """What is wrong with a console command, or None."""
    try:
        act(SHIP, sound_state(SHIP, minute=0), line)
    except Refused as refused:
        return f"{line}: {refused.text}" if refused.code in MISTYPED else None
    return None


# ---------------------------------------------------------------------------------------------- reading


@cache
def tokens(source: str) -> tuple[Token, ...]:
    return tuple(MARKDOWN.parse(sources()[source]))


def console_lines() -> Iterator[tuple[str, str]]:
    """Every command in the manuals: prompt lines of fences, and inline code that begins like a command."""
    verbs = {name.split()[0] for name in SHIP.commands}
    syntaxes = {command.syntax for command in SHIP.commands.values()} | SHIP.commands.keys() | verbs
    for source in sources():
        for token in tokens(source):
            if token.type == "fence":
                prompted = (line.split(SHIP.names.prompt, 1) for line in token.content.splitlines())
                yield from ((source, pair[1].strip()) for pair in prompted if len(pair) == 2 and not pair[0])
            for child in token.children or []:
                is_code = child.type == "code_inline" and child.content not in syntaxes
                if is_code and child.content.split()[0] in verbs:
                    yield source, child.content


def tables() -> Iterator[tuple[str, list[str], list[str]]]:
    """Source, header and row of every table row."""
    for source, text in sources().items():
        header: list[str] = []
        for line in text.splitlines():
            cells = [re.sub(r"[*`]", "", cell).strip() for cell in line.strip("|").split("|")]
            if not line.startswith("|"):
                header = []
            elif not header:
                header = cells
            elif set(line) - set("|-: "):
                yield source, header, cells


def everything() -> str:
    return "\n".join(sources().values())


# ---------------------------------------------------------------------------------------------- checks


def unknown_words(text: str) -> set[str]:
    """Ids, codes, procedures and words in capitals that the list does not hold."""
    bad = set(PART_ID.findall(text)) - IDS
    bad |= set(CODE.findall(text)) - CODES
    bad |= set(PROCEDURE.findall(text)) - PROCEDURES
    titles = {w for n in TITLE_WORDS for row in LIST[n] for w in CAPITALS.findall(row["title"])}
    calls = {station["call_sign"] for station in LIST["mission"]["stations"]}
    calls |= {SHIP.names.call_sign, LIST["ship"]["lander_call_sign"]}
    arguments = {word for command in SHIP.commands.values() for word in CAPITALS.findall(command.syntax)}
    words = {word for word in CAPITALS.findall(text) if not PART_ID.search(word)}
    return bad | (words - KEYS - VALUES - STATUSES - SYSTEMS - titles - calls - arguments - ABBREVIATIONS)


def test_every_name_in_the_manuals_is_in_the_list() -> None:
    unknown = {source: unknown_words(text) for source, text in sources().items()}
    assert {source: words for source, words in unknown.items() if words} == {}


def test_every_name_in_the_list_is_in_the_manuals() -> None:
    text = everything()
    words = set(re.findall(r"[\w-]+", text))
    assert (IDS | SYSTEMS | KEYS | VALUES | CODES | PROCEDURES | STATUSES) - words == set()
    inline = {
        c.content for s in sources() for t in tokens(s) for c in t.children or [] if c.type == "code_inline"
    }
    assert {command.syntax for command in SHIP.commands.values()} - inline == set()
    names = [alarm.title for alarm in SHIP.alarms]
    names += [f"{row['id']}: {row['title']}" for row in LIST["procedures"]]
    names += [name for part in SHIP.parts.values() for name in (part.name, part.serial)]
    assert [name for name in names if name not in text] == []


def test_every_physical_constant_is_stated_in_the_manuals() -> None:
    text = everything()
    for row in LIST["physics"]:
        forms = {f"{row['value']:{form}} {row['unit']}" for form in ("g", ".1f", ".2f")}
        assert any(re.search(rf"(?<![\d.]){re.escape(form)}", text) for form in forms), row["key"]


def test_every_console_command_in_the_manuals_is_valid() -> None:
    found = list(console_lines())
    assert len(found) > 200
    assert [f"{source}: {fault}" for source, line in found if (fault := command_fault(line))] == []


def test_the_limits_in_tables_are_those_of_the_list() -> None:
    checked = 0
    for source, header, cells in tables():
        row = dict(zip(header, cells, strict=False))
        limits = SHIP.telemetry_of(row.get("Part", "")).get(row.get("Quantity", ""))
        if limits and "Minimum" in row:
            stated = [float(row[name]) for name in ("Nominal", "Minimum", "Maximum")]
            assert stated == [limits.nominal, limits.min, limits.max], f"{source}: {cells}"
            assert row["Unit"] == limits.unit, f"{source}: {cells}"
            checked += 1
    assert checked >= sum(len(part.get("telemetry", [])) for part in LIST["parts"])


def test_alarm_tables_name_the_procedure_of_the_list() -> None:
    alarms = ((header, cells) for _, header, cells in tables() if "Raised when" in header)
    rows = [dict(zip(header, cells, strict=False)) for header, cells in alarms]
    stated = {row["Code"]: (row["Alarm"], row["Procedure"]) for row in rows}
    assert stated == {alarm.code: (alarm.title, alarm.procedure) for alarm in SHIP.alarms}


# ---------------------------------------------------------------------------------------------- questions


def test_every_answer_is_a_string_of_a_relevant_section() -> None:
    relevant = load_qrels(QUESTIONS, "test")
    for question in load_queries(QUESTIONS):
        if question.answerable:
            texts = [sections()[section] for section in relevant[question.id]]
            wanted = [part.answers[0].text for part in question.parts] or [question.answer]
            assert all(answer and any(answer in text for text in texts) for answer in wanted), question.id
        else:
            assert question.answer is None and question.id not in relevant


def test_the_spans_of_the_questions_hold_the_answers() -> None:
    texts = {name: (CORPUS / name).read_text(encoding="utf-8") for name in sources()}
    for question in load_queries(QUESTIONS):
        spans = [texts[span.source][span.start : span.end] for span in question.spans]
        golds = [gold.text for gold in question.gold if gold.text]
        held = not golds or any(gold in span for gold in golds for span in spans)
        assert all(spans) and held, question.id


@pytest.mark.parametrize("name", ["alarms", *(f"strangers/{x}" for x in STRANGERS)])
def test_every_passage_that_answers_stands_in_its_manual(name: str) -> None:
    answers = [(row.id, answer) for row in load_queries(DATA / name) for answer in row.answers]
    assert answers
    assert [one for one in answers if not contains(sources()[one[1].source], one[1].text)] == []
