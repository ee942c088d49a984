"""Questions that the memory answers and the documents do not: without a model, and with one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.answer import Answer, Answerability, Verdict
from pipeline.answering.recollection import Recollection, filled_in, memories_named
from pipeline.steps.records import MemoryVerdict, data_of
from tests.fake_llm import FakeLLM
from tests.memory.talks import Talk

SCI_FI = "I like reading sci-fi books"
READ_NEXT = "What should I read next?"


def shown(talk: Talk, answer: Answer) -> str:
    return filled_in(answer.text, talk.memory.texts(memories_named(answer.text)))


def say(talk: Talk, *messages: str, preset: str = "inject") -> None:
    chat = talk.chat(preset=preset)
    for message in messages:
        chat.answer(message)
        talk.finish()


def test_relations_lead_on_to_what_a_question_asks_for(talk: Talk) -> None:
    say(talk, "Petra works at Zalando.", "Zalando is based in Germany.", "Rex sleeps a lot.", preset="graph")
    answer = talk.chat(preset="graph").answer("In which country does Petra work?")
    recalled = talk.memory.texts(data_of(answer.steps, "recall")["graph"]).values()
    assert {"Petra works at Zalando", "Zalando located in Germany"} <= {*recalled}
    assert answer.mode == "memory"
    assert "Germany" in shown(talk, answer)
    assert "Rex" not in shown(talk, answer)
    options = talk.memory.options.but(memory="graph", memory_recall="asked")
    memory = replace(talk.memory, options=options)  # facts alone: no turn says it
    told = memory.told("Petra works at Zalando in which country?")
    *_, fact, relation = filled_in(told.text, memory.texts(memories_named(told.text))).splitlines()
    assert fact.startswith("- Petra works at Zalando")
    assert relation.startswith("- Zalando located in Germany (")


def test_what_does_not_hold_any_more_leads_nowhere(talk: Talk) -> None:
    say(
        talk,
        "Petra works at Zalando.",
        "Zalando is based in Germany.",
        "Petra works at Ikea.",
        preset="graph",
    )
    memory = replace(talk.memory, options=talk.memory.options.but(memory="graph"))
    question = "In which country does Petra work?"
    found = memory.relations_for(question, memory.read(question)[1].around)
    assert [memory.texts([item.id])[item.id] for item in found] == ["Petra works at Ikea"]


def test_a_liking_is_told_where_advice_is_asked_for(talk: Talk) -> None:
    say(talk, SCI_FI, "My bunk is number 4.")
    answer = talk.chat().answer(READ_NEXT)
    assert answer.mode == "memory"
    assert SCI_FI in shown(talk, answer)


@pytest.mark.parametrize("preset", ["inject", "agent", "generative", "graph"])
def test_a_model_is_asked_with_what_was_said_though_no_document_answers(talk: Talk, preset: str) -> None:
    say(talk, SCI_FI, preset=preset)
    reply = "You like reading sci-fi books. Dune by Frank Herbert won many prizes."
    llm = FakeLLM([reply], repeat=True)
    answer = talk.chat(preset=preset, llm=llm).answer(READ_NEXT)
    assert (answer.mode, answer.abstained) == ("generate", False)
    assert SCI_FI in llm.prompts[-1]
    assert answer.citations == ()
    # What was recalled needs no document; what the model adds does.
    assert [reply[item.start : item.end].strip() for item in answer.support if not item.supported] == [
        "Dune by Frank Herbert won many prizes."
    ]
    assert not any(item.supported for item in answer.support)


@pytest.mark.parametrize("private", [False, True])
def test_what_a_model_made_up_is_checked_again_though_it_is_remembered(talk: Talk, private: bool) -> None:
    reply = "The cabin fan hums at 4000 rpm [1]. The seal of the cabin fan is replaced every 77 hours."
    question = "At how many rpm does the cabin fan hum?"
    first = talk.chat(llm=FakeLLM([reply])).answer(question)
    talk.finish()
    llm = FakeLLM([reply])
    again = talk.chat(llm=llm, private=private).answer(question)
    assert "I answered" in llm.prompts[-1]
    assert "77 hours" in llm.prompts[-1]
    assert [item.supported for item in first.support] == [True, False]
    assert [item.supported for item in again.support] == [True, False]


def test_a_fact_that_fits_is_enough_for_a_model(talk: Talk) -> None:
    talk.memory.add("My locker has the code name Gustav.")
    llm = FakeLLM(["It is called Gustav."])
    answer = talk.chat(llm=llm).answer("Which code name did the llama get?")
    assert answer.mode == "generate"
    assert "Gustav" in llm.prompts[-1]


def test_neither_documents_nor_memory_answer(talk: Talk) -> None:
    llm = FakeLLM([])
    assert talk.chat(llm=llm).answer("Who feeds the llamas of the mess hall?").abstained
    assert llm.prompts == []


def test_what_goes_on_about_what_was_said_is_noted_rather_than_looked_for(talk: Talk) -> None:
    say(talk, "Petra works at Zalando.")
    assert talk.chat().answer("Zalando is based in Germany").mode == "reply"
    assert talk.chat().answer("Siemens is based in Munich").mode != "reply"


@pytest.mark.parametrize(("nearest", "leads"), [(0.3, True), (0.4, False)])
def test_where_both_are_only_near_a_sentence_of_the_documents_that_is_nearer_leads(
    nearest: float, leads: bool
) -> None:
    documents = Answerability(0.35, threshold=0.2, sure=0.5, signals={"closeness": nearest})
    assert documents.verdict == "closest"
    said = Recollection(told="You said: “im hot”", verdict="closest", probability=0.36, personal=True)
    assert said.leads(documents) is leads


def test_what_was_asked_once_does_not_lead_over_documents_that_answer() -> None:
    documents = Answerability(0.79, threshold=0.2, sure=0.5, signals={"closeness": 0.4})
    said = Recollection(told="You said: “im dizzy …”", verdict="remembered", probability=0.97, personal=True)
    assert said.leads(documents)
    assert not replace(said, asked=True).leads(documents)
    assert replace(said, asked=True).leads(Answerability(0.1, threshold=0.2, sure=0.5))


@pytest.mark.parametrize(
    ("message", "mode"), [("My project is Fan.", "reply"), ("The oxygen is 34.", "quote")]
)
def test_a_fact_of_the_users_own_is_noted_though_documents_speak_of_it(
    talk: Talk, message: str, mode: str
) -> None:
    answer = talk.chat().answer(message)
    assert answer.mode == mode
    if mode == "reply":
        assert answer.text.startswith("Noted: I find it again when you ask about it.")
    llm = FakeLLM(["It feeds the cabin [1]."])
    assert talk.chat(llm=llm).answer(message).mode == "generate"


@pytest.mark.parametrize(
    ("ours", "theirs", "personal", "ids"),
    [
        ("remembered", "answered", False, ("turn",)),
        ("closest", "closest", True, ("turn",)),
        ("closest", "closest", False, ()),  # an unrelated message shares a word with what was said
        ("closest", "answered", True, ()),
    ],
)
def test_what_was_said_is_shown_under_an_answer_where_it_may_be_missed_there(
    ours: MemoryVerdict, theirs: Verdict, personal: bool, ids: tuple[str, ...]
) -> None:
    said = Recollection(told="You said …", told_ids=("turn",), verdict=ours, personal=personal)
    assert said.shown(theirs) == ids
