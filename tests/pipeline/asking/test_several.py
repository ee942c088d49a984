"""Questions are told apart by sentences; pastes are read by what they ask."""

from __future__ import annotations

import pytest

from pipeline.asking.several import LONG, asked_in, questions_in


@pytest.mark.parametrize(
    ("message", "questions"),
    [
        (
            "pump MALFUNC what now. also how long does water last?",
            ["pump MALFUNC what now", "how long does water last?"],
        ),
        ("It is hot. What is open? Who is the pilot?", ["It is hot. What is open?", "Who is the pilot?"]),
        (
            "what does C-112 mean, and what empties the tank?",
            ["what does C-112 mean", "what empties the tank?"],
        ),
        ("Hi! Where are the masks? thanks", ["Hi! Where are the masks? thanks"]),
        ("Who is the pilot? And why?", ["Who is the pilot? And why?"]),
        ("what is X-1 and how does it work?", ["what is X-1 and how does it work?"]),
        (
            "what is a bake and how long does a cartridge last?",
            ["what is a bake", "how long does a cartridge last?"],
        ),
        ("what is a crate also known as?", ["what is a crate also known as?"]),
        ("difference between String and &str?", ["difference between String and &str?"]),
    ],
)
def test_questions_of_a_message(message: str, questions: list[str]) -> None:
    assert questions_in(message) == questions


def test_a_paste_is_read_by_its_questions_and_its_end() -> None:
    paste = f"What does F-51 mean? {'A line of the log. ' * 80}The pump hums. It is stuck."
    assert asked_in(paste) == "What does F-51 mean? The pump hums. It is stuck"
    assert asked_in("x" * LONG) == "x" * LONG
