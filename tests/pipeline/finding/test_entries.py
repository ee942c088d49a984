"""A code that is the whole question leads to its own entry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from athena import Athena, load_settings, open_athena
from pipeline.answering.quotes import choose_quotes
from pipeline.finding.entries import code_alone, code_asked

ALARMS = """# Alarms

## Air

| Code | Alarm |
|---|---|
| C-111 | OXYGEN LOST |
| C-112 | NITROGEN LOST |
| C-114 | TANK PRESSURE |

### C-112 nitrogen lost

It means that the LN2 tank is OFFLINE. Power it on.

### C-111 oxygen lost

C-111 means that a LOX tank is OFFLINE. With C-112 active, look at C-112 first.

### C-113 regulator outlet

C-113 means that a regulator gets no gas. With C-112 or C-111 active it is the consequence of C-112.

### Difference between C-112 and C-114

C-112 is of a tank that is OFFLINE and C-114 of one whose pressure is wrong: C-112 is no C-114.
"""


@pytest.mark.parametrize(
    ("text", "code"),
    [("C-112", "c-112"), ("c112?", "c-112"), ("C 112", "c-112"), ("P-ATM-01.", "p-atm-01"),
     ("what is C-112", ""), ("C-111 C-112", ""), ("tank-valve", ""), ("1998", ""), ("", "")],
)  # fmt: skip
def test_a_code_alone_is_known(text: str, code: str) -> None:
    assert code_alone(text) == code


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("C-112", "c-112"),
        ("What's the alarm C-112?", "c-112"),
        ("error code E-05", "e-05"),
        ("what does C112 mean??", "c-112"),
        ("what does C-112 mean for the crew", ""),
        ("what is the difference of C-112", ""),
        ("what is a valve", ""),
        ("why C-112", ""),
        ("what is", ""),
    ],
)
def test_a_code_that_is_asked_for_is_known(question: str, code: str) -> None:
    assert code_asked(question) == code


@pytest.fixture(scope="module")
def athena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    folder = tmp_path_factory.mktemp("entries")
    (folder / "alarms").mkdir()
    (folder / "alarms" / "alarms.md").write_text(ALARMS, encoding="utf-8")
    settings = load_settings(data_dir=folder / "data", llm="none", hyde="off", rerank=False)
    with closing(open_athena(settings)) as opened:
        opened.ingest([Path(folder / "alarms")])
        yield opened


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("C-112", "LN2 tank"),
        ("C-111", "LOX tank"),
        ("C-113", "no gas"),
        ("what does C-113 mean?", "no gas"),
        ("what is C-114", "| C-114 | TANK PRESSURE |"),
        ("C-114", "| C-114 | TANK PRESSURE |"),
    ],
)
def test_its_own_section_or_row_is_quoted_first(athena: Athena, code: str, said: str) -> None:
    found = athena.hybrid_search.search(code)
    first, *_ = choose_quotes(found, store=athena.store, encoder=athena.encoder, limit=5)
    assert said in first.text
    assert not first.folded
