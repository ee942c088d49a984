"""The questions of the levels against the levels, the manuals and the retrieval."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from athena import load_settings, open_athena
from evals.judging import contains, quotes_shown
from evals.retrieval import evaluate_retrieval
from mission.levels import all_levels
from tests.manuals import qrels, queries, sections

DATA = Path(__file__).resolve().parents[2] / "evals" / "data" / "missions"
STRANGERS = DATA.parent / "strangers" / "missions"
MANUALS = DATA.parents[2] / "docs_corpus"
MIN_QUESTIONS = 4
# What a player types first, an alarm's words or what is seen, and what one of the quotes says.
FIRST_WORDS = [
    ("C-112 NITROGEN SUPPLY LOST", "power on ECS-LN2-T1"),
    ("C-208 INVERTER", "set EPS-CTRL INVERTER EPS-INV-2"),
    ("the fan stands still", "power on EPS-INV-2"),
    ("C-131 COOLANT FLOW", "set CMP-CTRL COOLANT_PUMP ECS-CLP-2"),
    ("C-502 KEY REFUSED", "the last two digits of the serial number"),
    ("W-103 OXYGEN LOW", "set ECS-O2-R1 SETPOINT 21.0"),
    ("headache, but everything is green", "telemetry ECS-CAB-S2 PPCO2"),
    ("W-107 CO2 CRITICAL", "set ECS-CO2-L CARTRIDGE LOADED"),
    ("W-202 BUS LOST", "power off STO-FRZ-1"),
    ("half of the ship is dark", "self-test EPS-BUS-A"),
    ("C-601 COMPUTER WARM", "power on ECS-CLP-2"),
    ("C-401 ATTITUDE REFERENCE", "set GNC-IMU-1 MODE ALIGN"),
    ("W-101 CABIN PRESSURE LOW", "set ECS-CTRL CABIN_SENSOR ECS-CAB-S2"),
    ("flakes outside the window", "telemetry ECS-CLP-1 INLET_PRESSURE"),
]
FIRST = 5


def test_the_questions_are_those_of_the_levels() -> None:
    wanted = {
        (f"{level.id}-{number}", text, level.id)
        for level in all_levels().values()
        for number, text in enumerate(level.questions, 1)
    }
    assert {(row["_id"], row["text"], row["level"]) for row in queries(DATA)} == wanted
    assert all(len(level.questions) >= MIN_QUESTIONS for level in all_levels().values())


def test_every_question_is_answered_by_sections_of_the_manuals() -> None:
    relevant = qrels(DATA)
    assert relevant.keys() == {row["_id"] for row in queries(DATA)}
    assert {section for found in relevant.values() for section in found} - sections().keys() == set()


@pytest.mark.slow
def test_an_answer_is_among_the_first_five_retrieved(tmp_path: Path) -> None:
    """For every question, with the bundled model and no other: enough to win without a language model."""
    ranking = tmp_path / "missions.run"
    settings = load_settings(data_dir=tmp_path / "data", llm="none", hyde="off", cross_encoder="none")
    with closing(open_athena(settings)) as athena:
        evaluate_retrieval(athena, DATA, run=ranking, corpus=MANUALS)
    first: dict[str, set[str]] = {}
    for line in ranking.read_text(encoding="utf-8").splitlines():
        query, _, section, rank, *_ = line.split()
        if int(rank) <= FIRST:
            first.setdefault(query, set()).add(section)
    relevant = {q: {section.replace(" ", "_") for section in found} for q, found in qrels(DATA).items()}
    assert [query for query, found in relevant.items() if not found & first[query]] == []


@pytest.mark.slow
def test_the_first_words_lead_to_a_quote_with_the_way_on(tmp_path: Path) -> None:
    """Without a language model, and without a click."""
    settings = load_settings(data_dir=tmp_path / "data", llm="none", hyde="off", cross_encoder="none")
    with closing(open_athena(settings)) as athena:
        athena.ingest([MANUALS])

        def says(typed: str, wanted: str) -> bool:
            quotes = quotes_shown(athena, athena.hybrid_search.search(typed))
            return any(contains(quote.text, wanted) for quote in quotes if not quote.folded)

        assert [typed for typed, wanted in FIRST_WORDS if not says(typed, wanted)] == []
