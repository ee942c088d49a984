"""Words overwritten in stored turns: all forms that they take there, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Answer
from pipeline.messages import Message
from pipeline.steps.records import Step
from pipeline.stores import erasing as erasing_module
from pipeline.stores.conversations import answer_from, answer_json, title_of
from pipeline.stores.erasing import BLOCK, MADE, Erasing, Forms, written_forms
from tests.contracts.test_conversations import answer
from tests.pipeline.answering.test_citations import citing

PIN = "my PIN is 47-11"


def erased(text: str, *words: str) -> str:
    return Erasing.of(words).text(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Remember that my PIN is 47-11.", f"Remember that {BLOCK * 15}."),
        ("MY pin IS 47-11", BLOCK * 15),
        ("my\n  PIN is\t47-11!", BLOCK * 17 + "!"),
        (r"my \*PIN\* is 47\-11", BLOCK * 20),
        (json.dumps("said:\nmy\nPIN is 47-11"), '"said:\\n' + BLOCK * 16 + '"'),
        ("Remember that my PIN is …", f"Remember that {BLOCK * 9} …"),
        ("Remember that my PIN", "Remember that my PIN"),
        ("my PIN is 42", "my PIN is 42"),
    ],
)
def test_words_are_found_however_they_are_written(text: str, left: str) -> None:
    assert erased(text, PIN) == left


def test_whatever_json_escapes_is_found_escaped() -> None:
    said = 'the "Zoë" key\n\\o/'
    for form in (said, *written_forms([said])):
        assert erased(f"<{form}>", said) == f"<{BLOCK * len(form)}>"


@given(st.text(), st.text(min_size=1), st.text())
def test_a_text_keeps_its_length_and_loses_the_words(before: str, said: str, after: str) -> None:
    text = before + said + after
    done = erased(text, said)
    assert len(done) == len(text)
    if said.strip():
        assert said not in done


@given(st.text(), st.text(min_size=1), st.text())
def test_where_the_words_are_they_are_found_also_in_json(before: str, said: str, after: str) -> None:
    text = before + said + after
    if said.strip():
        assert Erasing.of([said]).is_in(text)
        assert Erasing.of([said]).is_in(json.dumps(text, ensure_ascii=False))


SAID = st.lists(st.text('aAbkKsS1 -_."\\\n[éÉe\u0301ßẞſıİiK\ufb05', min_size=1, max_size=6), max_size=6)


@given(SAID, st.lists(SAID), st.sampled_from(["", " …", "..."]))
def test_what_a_text_cannot_have_is_left_out_and_changes_nothing(
    words: list[str], texts: list[list[str]], end: str
) -> None:
    """What is overwritten is the same as with one pattern of all forms."""
    text = " ".join("".join(said) for said in [*texts, words[:1]]) + end
    stored = answer_json(answer(text, text, condensed_question=text))
    erasing = Erasing.of(words)
    few = (erasing.is_in(text), erasing.text(text), erasing.answer(stored))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(erasing_module, "FEW", 0)
        assert (erasing.is_in(text), erasing.text(text), erasing.answer(stored)) == few
        patch.setattr(Forms, "within", lambda forms, _: forms)
        patch.setattr(erasing_module, "folded", lambda _: "")
        assert (erasing.is_in(text), erasing.text(text), erasing.answer(stored)) == few


def test_of_a_thousand_memories_only_those_that_a_text_can_have_are_looked_for() -> None:
    words = [f"My locker {number} opens with {number * 7919}" for number in range(1, 1001)]
    text = "Which locker opens with my key? My locker 12 opens with 95028, they said. " * 20
    assert [form.has for form in Erasing.of(words).forms.within(text).forms] == [
        ("my locker 12 opens with 95028",),
        ("my", "locker", "12", "opens", "with", "95028"),
    ]


def test_in_their_conversation_the_words_go_also_where_they_were_said_otherwise() -> None:
    """A question whose spelling was corrected, one carried into the next, an answer in other words."""
    given = answer(
        "And what is my lokcer's code, by the way?",
        "Your code is 8842-quartz, kept since 2026; it needs 24 bar.",
        condensed_question="my locker code is 8842-quartz and what is it",
        corrected="the locker code",
        steps=(
            Step(
                "condense",
                data={
                    "message": "And what is my code?",
                    "question": "code 8842 quartz",
                    "carried": "locker 8842",
                },
            ),
            Step("search", data={"text": "quartz locker", "alternative": "code"}),
            Step("prompt", data={"messages": [{"role": "user", "text": "the locker of 8842 and its code"}]}),
        ),
    )
    erasing = Erasing.of(["my lokcer code is 8842-quartz"])
    done = answer_from(json.loads(erasing.answer(answer_json(given))))
    kept = answer_json(done)
    assert "8842" not in kept
    assert "quartz" not in done.condensed_question
    assert done.text == f"Your code is {BLOCK * 4}-quartz, kept since 2026; it needs 24 bar."
    assert done.steps[0].data["carried"] == f"locker {BLOCK * 4}"
    assert done.steps[0].data["message"] == "And what is my code?"
    assert done.steps[1].data["text"] == f"{BLOCK * 6} locker"
    assert done.steps[2].data["messages"][0]["text"] == f"the locker of {BLOCK * 4} and its code"


def test_an_answer_loses_them_everywhere_and_can_still_be_read() -> None:
    said = "blue Zoë-7"
    given = answer(
        f"Is it {said}?",
        f"It is {said} [1].",
        condensed_question=f"cabin: {said}",
        corrected=said,
        notices=(f"no {said}",),
        citations=(citing("The fan hums."),),
        steps=(
            Step("condense", data={"message": said, "question": said, "carried": said}),
            Step(
                "correct",
                data={
                    "question": said,
                    "corrected": said,
                    "words": [{"start": 0, "wrong": said, "right": said}],
                },
            ),
            Step("hyde", data={"question": said, "hypothesis": said}),
            Step(
                "search",
                data={
                    "text": said,
                    "alternative": said,
                    "dense_sections": [{"node_id": "a", "section_id": "blue", "score": 0.5}],
                },
            ),
            Step("select", detail=said, data={"selected": ["blue"]}),
            Step(
                "prompt",
                data={
                    "messages": [
                        {"role": "system", "text": "Rules."},
                        {"role": "user", "text": f"history: {said}"},
                    ]
                },
            ),
        ),
    )
    done = answer_from(json.loads(Erasing.of([said]).answer(answer_json(given))))
    kept = dataclasses.replace(done, citations=())
    assert said.casefold() not in answer_json(kept).casefold()
    assert (done.citations, done.question) == (given.citations, f"Is it {BLOCK * 10}?")
    assert done.steps[3].data == given.steps[3].data | {"text": BLOCK * 10, "alternative": BLOCK * 10}


def test_words_that_name_something_of_ours_break_nothing() -> None:
    given = answer(
        "complete user search ok?",
        "ok",
        steps=(
            Step("search", data={"text": "user"}),
            Step("prompt", data={"messages": [{"role": "user", "text": "ok"}]}),
        ),
    )
    words = ["complete", "user", "search", "ok", "generate", "m", "answered", "condense"]
    done = answer_from(json.loads(Erasing.of(words).answer(answer_json(given))))
    assert (done.status, done.mode, done.steps[0].name) == ("complete", "generate", "search")
    assert done.steps[1].data["messages"] == [{"role": "user", "text": BLOCK * 2}]


def test_every_field_that_takes_only_certain_words_is_left_alone() -> None:
    for kind in (Answer, Message, Step):
        for name, hint in typing.get_type_hints(kind).items():
            if typing.get_origin(hint) is typing.Literal or name.endswith(("_id", "_hash")):
                assert name in MADE, f"{kind.__name__}.{name}"


def test_memories_are_still_named() -> None:
    named = "[memory 4711aaaa-0000-4711-8000-0123456789ab]"
    assert erased(f"4711 is {named}.", "4711") == f"{BLOCK * 4} is {named}."
    steps = (
        Step("recall", data={"static": ["a4711"], "graph": ["b4711"]}),
        Step("remember", data={"added": ["c4711"], "known": ["d4711"]}),
    )
    done = answer_from(
        json.loads(Erasing.of(["4711"]).answer(answer_json(answer(steps=steps, recalled=("4711",)))))
    )
    assert (done.steps, done.recalled) == (steps, ("4711",))


def test_a_title_is_made_again_of_its_question() -> None:
    question = "Remember that the safe behind the red door opens with 4711-2299-1133-5544, please"
    said = "opens with 4711-2299-1133-5544"
    title = title_of(question)
    assert "opens" in title
    assert said not in title
    done = Erasing.of([said]).title(title, ["Other?", question])
    assert "opens" not in done
    assert done.startswith("Remember that the safe behind the red door")
    assert Erasing.of([said]).title(f"Safe: {said}", [question]) == "Safe: …"


def test_a_title_shows_no_blocks_and_none_is_left_where_it_had_only_the_words() -> None:
    said = "My locker opens with 4711"
    erasing = Erasing.of([said])
    assert erasing.title(said, [said]) == erasing.title(f"{said}!", ["Other?"]) == ""
    assert title_of(erasing.text(f"Remember: {said}, and {said}.")) == "Remember: …, and …."
    renamed = "A long title that somebody wrote, of which nothing has to be overwritten, stays as it is"
    assert erasing.title(renamed, [said]) == renamed


def test_nothing_is_overwritten_without_words() -> None:
    erasing = Erasing.of(["", "  \n"])
    assert not erasing
    assert erasing.text("Anything …") == "Anything …"
