"""The questions of the levels against the levels, the manuals and the retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from athena import Athena, load_settings, open_athena
from evals.datasets import load_qrels, load_queries
from evals.indexing import index_of
from evals.judging import contains, quotes_shown
from mission.levels import all_levels
from tests.manuals import sections

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
        (f"{level.id}-{number}", text)
        for level in all_levels().values()
        for number, text in enumerate(level.questions, 1)
    }
    assert {(question.id, question.text) for question in load_queries(DATA)} == wanted
    assert all(len(level.questions) >= MIN_QUESTIONS for level in all_levels().values())


def test_every_question_is_answered_by_sections_of_the_manuals() -> None:
    relevant = load_qrels(DATA, "test")
    assert relevant.keys() == {question.id for question in load_queries(DATA)}
    assert {section for found in relevant.values() for section in found} - sections().keys() == set()


@pytest.fixture(scope="module")
def athena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    """The manuals, by the bundled embedding model and no other."""
    data_dir = tmp_path_factory.mktemp("data")
    settings = load_settings(data_dir=data_dir, llm="none", hyde="off", cross_encoder="none")
    with closing(open_athena(settings)) as opened:
        opened.ingest([MANUALS])
        yield opened


@pytest.mark.slow
def test_an_answer_is_among_the_first_five_retrieved(athena: Athena) -> None:
    """For every question: enough to win without a language model."""
    names, relevant = index_of(athena.store).names, load_qrels(DATA, "test")
    options = athena.options.but(top_k=FIRST, context_tokens=10**9, merge_up=False)

    def found(question: str) -> set[str]:
        passages = athena.hybrid_search.search(question, options=options).passages
        return {names[passage.section.node_id] for passage in passages}

    missed = [one.id for one in load_queries(DATA) if not relevant[one.id].keys() & found(one.text)]
    assert missed == []


@pytest.mark.slow
def test_the_first_words_lead_to_a_quote_with_the_way_on(athena: Athena) -> None:
    """Without a language model, and without a click."""

    def says(typed: str, wanted: str) -> bool:
        quotes = quotes_shown(athena, athena.hybrid_search.search(typed))
        return any(contains(quote.text, wanted) for quote in quotes if not quote.folded)

    assert [typed for typed, wanted in FIRST_WORDS if not says(typed, wanted)] == []
