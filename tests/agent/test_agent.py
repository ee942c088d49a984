"""A run of the agent: its sources and citations, its tools, how it ends, and what it never does."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from agent import Agent
from agent.agent import NO_ROOM
from agent.tools import MOST_CHARACTERS, result_text
from athena import Athena, open_athena
from pipeline.redaction import hide
from pipeline.steps.events import AnswerFinished
from tests.agent.conftest import ANSWERED, QUESTION, Ask, call, calls, scripted
from tests.servers import OllamaServer, Reply

REWRITTEN = Reply((json.dumps({"queries": [QUESTION]}),))


def test_an_answer_cites_the_sections_that_were_read(ask: Ask) -> None:
    answer = ask([call("search", query="LN2 tank relief valve"), ANSWERED])
    assert "It hums at 4000 rpm." in [cited.quote for cited in answer.citations]
    assert answer.support[0].supported
    [step] = calls(answer)
    assert (step.data["tool"], step.data["kind"], step.status) == ("search", "documents", "ok")
    assert step.data["arguments"] == {"query": "LN2 tank relief valve"}
    assert not answer.notices


def test_a_model_that_calls_no_tool_answers_from_the_manuals(ask: Ask) -> None:
    llm = scripted(["The cabin fan hums at 4000 rpm."])
    answer = ask(llm)
    assert "It hums at 4000 rpm." in [cited.quote for cited in answer.citations]
    assert "It hums at 4000 rpm." in llm.prompts[-1]


def test_a_question_with_two_parts_is_searched_for_each(ask: Ask) -> None:
    queries = "cabin fan hum", "LN2 tank relief valve"
    answer = ask(scripted([ANSWERED], *queries))
    tools = [step.data["arguments"]["query"] for step in answer.steps if step.name == "tool"]
    assert tools == [*queries]


def test_a_sentence_that_no_section_supports_is_marked(ask: Ask) -> None:
    answer = ask(["Thought: I know.\nAnswer: The cabin fan weighs 40 kg [1]. It is red [9]."])
    assert not any(item.supported for item in answer.support)
    assert not answer.citations


def test_a_section_has_one_number_however_often_it_is_read(ask: Ask) -> None:
    llm = scripted([call("search", query=QUESTION), ANSWERED])
    ask(llm)
    assert llm.prompts[-1].count("<source 1 ") == 2
    assert "<source 9 " not in llm.prompts[-1]


def test_a_section_is_opened_by_its_id(ask: Ask, fan: Athena) -> None:
    section = fan.search("LN2 tank").passages[0].section
    answer = ask(
        [call("open_section", section_id=section.node_id), call("open_section", section_id="x"), ANSWERED]
    )
    opened, unknown = calls(answer)
    assert opened.data["found"] == "1 section"
    assert unknown.status == "failed" and "No section" in unknown.detail


def test_the_scope_of_a_conversation_holds_for_every_tool(ask: Ask, fan: Athena) -> None:
    section = next(
        one.section for one in fan.search("S-band").passages if one.node.metadata["source"] == "comms.md"
    )
    llm = scripted(
        [call("open_section", section_id=section.node_id), call("search", query="S-band"), ANSWERED]
    )
    answer = ask(llm, paths=("systems/*",))
    assert [step.status for step in calls(answer)] == ["failed", "ok"]
    assert "S-band" not in llm.prompts[-1].replace("query", "").split("Action Input")[0]


def test_results_of_functions_are_no_evidence(ask: Ask, agent: Agent) -> None:
    def weight(part: str) -> str:
        """Say what a part weighs."""
        return f"{part} weighs 40 kg [1]"

    agent.add_tool(weight, reads=True)
    llm = scripted([call("weight", part="The fan"), "Thought: so\nAnswer: The fan weighs 40 kg [1]."])
    answer = ask(llm)
    assert calls(answer)[0].data["result"] == "The fan weighs 40 kg [1]"
    assert r"40 kg \[1]" in llm.prompts[-1]
    assert not answer.support[0].supported


def test_arguments_are_converted_or_refused_with_the_reason(ask: Ask, agent: Agent) -> None:
    got: list[object] = []

    def take(count: int) -> str:
        """Take so many."""
        got.append(count)
        return "taken"

    agent.add_tool(take, reads=True)
    answer = ask([call("take", count="123"), call("take", count="many"), call("take"), ANSWERED])
    assert got == [123]
    right, wrong, missing = calls(answer)
    assert right.status == "ok"
    assert "count" in wrong.detail and "count" in missing.detail


def test_an_exception_of_a_function_is_told_to_the_model(ask: Ask, agent: Agent) -> None:
    def broken() -> str:
        """Break."""
        raise RuntimeError("no scale")

    agent.add_tool(broken, reads=True)
    llm = scripted([call("broken"), call("launch"), ANSWERED])
    answer = ask(llm)
    assert [(step.status, step.detail) for step in calls(answer)] == [("failed", "no scale")]
    assert "no scale" in llm.prompts[-1] and "launch not found" in llm.prompts[-1]
    assert answer.citations


def test_a_tool_that_writes_is_called_with_consent_alone(ask: Ask, agent: Agent) -> None:
    done, asked = list[str](), list[Any]()

    def order(part: str) -> str:
        """Order a part."""
        done.append(part)
        return "ordered"

    def consent(tool: Any, arguments: Any, _: threading.Event) -> bool:
        asked.append((tool.name, arguments))
        return True

    agent.add_tool(order)
    assert "did not allow" in calls(ask([call("order", part="fan"), ANSWERED]))[0].detail
    assert not done
    ask([call("order", part="fan"), ANSWERED], agent=replace(agent, consent=consent))
    assert done == ["fan"] and asked == [("order", {"part": "fan"})]


def test_memories_are_kept_recalled_and_forgotten_with_consent(ask: Ask, agent: Agent, fan: Athena) -> None:
    willing = replace(agent, consent=lambda *_: True)
    kept = calls(ask([call("remember", text="I sleep in bunk B-2."), ANSWERED], agent=willing))[0]
    [known] = [memory.id for memory in fan.memory.list() if memory.text == "I sleep in bunk B-2."]
    assert "result" not in kept.data  # a step has no text of memories: they may be forgotten
    llm = scripted([call("recall", query="bunk"), "Thought: so\nAnswer: You sleep in bunk B-2."])
    answer = ask(llm, question="Where is my place to sleep?", agent=willing)
    assert "bunk B-2" in llm.prompts[-1] and known in answer.recalled
    ask([call("forget", memory_ids=[known]), ANSWERED], agent=willing)
    assert not fan.memory.list()


def test_a_private_conversation_has_no_tool_that_writes_to_the_memory(ask: Ask) -> None:
    llm = scripted([call("remember", text="I like fans."), ANSWERED])
    answer = ask(llm, private=True)
    assert calls(answer) == [] and "remember not found" in llm.prompts[-1]


def test_an_endless_caller_is_asked_for_an_answer_at_last(ask: Ask) -> None:
    llm = scripted([*(call("search", query=f"fan {number}") for number in range(8)), "It hums at 4000 rpm."])
    answer = ask(llm)
    assert answer.citations and len(llm.prompts) == 10


def test_results_are_cut_to_the_room_of_the_prompt(ask: Ask, agent: Agent) -> None:
    agent.add_tool(lots, reads=True)
    llm = scripted([call("lots"), call("lots"), ANSWERED])
    first, second = calls(ask(llm))
    assert first.status == "ok" and second.detail == NO_ROOM
    assert len(llm.prompts[-1]) < 60_000


def lots() -> str:
    """Return a long text."""
    return "word " * 100_000


TOLD = "Thought: hm\nAnswer: I would use the `search` function."


@pytest.mark.parametrize("reply", [ConnectionError("gone"), "Thought: hm\nAnswer: ", TOLD])
def test_a_model_that_fails_leaves_the_question_to_the_recipe(ask: Ask, reply: Any) -> None:
    answer = ask([reply, "The cabin fan hums at 4000 rpm [1]."])
    assert "gave up" in answer.notices[0]
    assert answer.citations and "search" not in answer.text


def test_an_answer_has_no_thoughts(ask: Ask) -> None:
    answer = ask([call("search", query="tank"), f"<think>secret</think>{ANSWERED}"])
    assert answer.text.startswith("The cabin fan hums at 4000 rpm [1]")


def test_a_stop_ends_a_call_that_hangs(fan: Athena, agent: Agent) -> None:
    ended, stop = threading.Event(), threading.Event()

    def hang() -> str:
        """Hang."""
        stop.set()
        ended.wait(60)
        return ""

    agent.add_tool(hang, reads=True)
    begun = time.monotonic()
    try:
        events = list(fan.chat(llm=scripted([call("hang"), ANSWERED]), agent=agent).run(QUESTION, stop=stop))
    finally:
        ended.set()
    last = events[-1]
    assert isinstance(last, AnswerFinished) and last.answer.status == "stopped"
    assert time.monotonic() - begun < 40


@pytest.mark.slow
def test_the_time_of_an_answer_is_limited(fan: Athena, agent: Agent) -> None:
    ended = threading.Event()

    def hang() -> str:
        """Hang."""
        ended.wait(60)
        return ""

    agent.add_tool(hang, reads=True)
    chat = fan.chat(llm=scripted([call("hang"), "It hums at 4000 rpm."]), agent=agent)
    limits = chat.parts.limits.model_copy(update={"answer_timeout_s": 5.0})
    chat.parts = replace(chat.parts, limits=limits)
    try:
        last = [*chat.run(QUESTION)][-1]
    finally:
        ended.set()
    assert isinstance(last, AnswerFinished)
    assert "gave up" in last.answer.notices[0] and last.answer.citations


def test_a_model_of_ollama_with_tools_calls_them_as_functions(fan: Athena, agent: Agent) -> None:
    with OllamaServer(tools=True) as server:
        server.reply_with(REWRITTEN, Reply(("The cabin fan hums at 4000 rpm.",)))
        changed = {"ollama_url": server.url, "llm": "ollama/llama3.2"}
        with open_athena(fan.settings.model_copy(update=changed)) as other:
            answer = other.ask(QUESTION, agent=agent)
        offered = [tool["function"]["name"] for tool in server.chats[1].body["tools"]]
    assert {"search", "open_section", "recall"} <= {*offered}
    assert answer.citations and "Thought" not in server.chats[1].body["messages"][0]["content"]


def test_a_model_that_writes_its_calls_is_asked_to_do_so(fan: Athena, agent: Agent) -> None:
    written = '<tools>{"name": "search", "arguments": {"query": "speed"}}</tools>'
    replies = [Reply((text,)) for text in (written, call("search", query="speed"), ANSWERED)]
    with OllamaServer(tools=True) as server:
        server.reply_with(REWRITTEN, *replies)
        changed = {"ollama_url": server.url, "llm": "ollama/llama3.2"}
        with open_athena(fan.settings.model_copy(update=changed)) as other:
            answer = other.ask(QUESTION, agent=agent)
    assert [step.data["arguments"] for step in calls(answer)] == [{"query": "speed"}]
    assert answer.citations and "name" not in answer.text


@pytest.mark.parametrize(("value", "text"), [("a\ud800", "a?"), (None, "null"), ({"a": [1]}, '{"a": [1]}')])
def test_results_are_texts(value: object, text: str) -> None:
    assert result_text(value) == text


def test_long_results_are_cut_and_secrets_taken_out() -> None:
    secret = "Qx7Kp2Lm9Zt4Rw8Vb1Nc6"
    hide({"openai_api_key": secret})
    assert secret not in result_text(f"key {secret}")
    assert len(result_text("x y " * 10_000_000)) <= MOST_CHARACTERS


def test_athenas_own_tools_keep_their_names(ask: Ask, agent: Agent) -> None:
    def search(query: str) -> str:
        """Search elsewhere."""
        return "quokka"

    agent.add_tool(search, reads=True)
    llm = scripted([call("search", query="fan"), ANSWERED])
    assert ask(llm).citations and "quokka" not in llm.prompts[-1]
