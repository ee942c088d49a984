"""Answers and citations for tests of whatever keeps or shows them."""

from __future__ import annotations

from pipeline.answer import Answer, Citation

FILE = (
    "# Fan\n\nThe fan hums. It turns at 4000 rpm, day and night.\n\nCall the ground. Ünïcode — 月面 works.\n"
)


def answer(question: str = "Why?", text: str = "So [1].", **given: object) -> Answer:
    known = {"condensed_question": question, "mode": "generate", "model": "m", "abstained": False}
    return Answer(question=question, text=text, **known | given)  # type: ignore[arg-type]


def citing(quote: str, text: str = FILE) -> Citation:
    start = text.index(quote)
    return Citation(
        marker=1,
        source="fan.md",
        heading_path=("Fan",),
        start=start,
        end=start + len(quote),
        start_line=3,
        end_line=3,
        quote=quote,
        file_hash="h",
        section_text=text,
        section_start=0,
    )
