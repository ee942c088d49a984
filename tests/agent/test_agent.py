"""A run of the agent: what it looks up, how it ends, and what it never does."""

from __future__ import annotations

import re
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, open_agent, why_not
from agent.calling import CHARACTERS_A_TOKEN, LONGEST_SECRET, MOST_TOKENS, POLL_S, as_text
from agent.protocol import LONGEST_REPLY, StrictParser
from agent.tools import named_tools
from athena import Athena, load_settings, open_athena
from athena.cli.ask import _consent
from pipeline.errors import ConfigurationError
from pipeline.redaction import hide
from pipeline.steps.events import AnswerFinished, StepFinished, TokenArrived
from tests.agent.conftest import ANSWERED, Ask, call, calls
from tests.fake_llm import FakeLLM

QUESTION = "At how many rpm does the cabin fan hum?"


def test_an_answer_cites_what_was_read_and_every_step_is_told(ask: Ask) -> None:
    answer = ask([call("search", query="LN2 tank relief valve"), ANSWERED])
    assert answer.text == "The cabin fan hums at 4000 rpm [1][2]."
    assert "It hums at 4000 rpm." in [cited.quote for cited in answer.citations]
    assert answer.citations[0].verified and answer.support[0].supported
    assert [(step.data["tool"], step.data["kind"], step.status) for step in calls(answer)] == [
        ("search", "documents", "ok"),
        ("search", "documents", "ok"),
    ]
    assert calls(answer)[1].data["arguments"] == {"query": "LN2 tank relief valve"}
    thoughts = [step for step in answer.steps if step.name == "think"]
    assert [(step.data["thought"], step.data["wants"]) for step in thoughts] == [
        ("I look.", "search"),
        ("I have read enough.", ""),
    ]
    assert not answer.notices


def test_what_is_not_read_supports_nothing(ask: Ask) -> None:
    answer = ask(["Thought: I know.\nAnswer: The cabin fan weighs 40 kg [1]. It is red [9]."])
    assert not any(item.supported for item in answer.support)
    assert not any(cited.verified for cited in answer.citations)


def test_tools_that_only_say_something_are_no_evidence(ask: Ask, agent: Agent) -> None:
    def weight(part: str) -> str:
        """Say what a part weighs."""
        return f"{part} weighs 40 kg [1]"

    agent.add_tool(weight, reads=True)
    answer = ask([call("weight", part="The fan"), "Thought: so\nAnswer: The fan weighs 40 kg [1]."])
    assert calls(answer)[1].data["result"] == "The fan weighs 40 kg [1]"
    assert calls(answer)[1].data["kind"] == "tool"
    assert not answer.support[0].supported
    assert not any(cited.verified for cited in answer.citations)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [({"count": "123"}, 123), ({"count": 123.0}, 123), ({"count": 123}, 123)],
)
def test_arguments_are_converted_where_they_mean_one_thing(
    ask: Ask, agent: Agent, given: dict[str, Any], wanted: int
) -> None:
    got: list[object] = []

    def take(count: int) -> str:
        """Take so many."""
        got.append(count)
        return "taken"

    agent.add_tool(take, reads=True)
    ask([call("take", **given), ANSWERED])
    assert got == [wanted]


def test_arguments_that_mean_nothing_are_answered_with_a_right_call(ask: Ask, agent: Agent) -> None:
    def take(count: int) -> str:
        """Take so many."""
        raise AssertionError(count)

    agent.add_tool(take, reads=True)
    answer = ask([call("take", count="many"), call("take", number=3), call("take"), ANSWERED])
    wrong = [step.detail for step in calls(answer)[1:]]
    assert "must be" in wrong[0] and "takes no 'number'" in wrong[1] and "'count' is missing" in wrong[2]
    assert all('take({"count": 1})' in said for said in wrong)
    assert [step.data["attempts"] for step in calls(answer)] == [1, 1, 1, 1]


def test_an_object_as_argument_is_asked_for_in_words(ask: Ask, agent: Agent) -> None:
    def take(options: dict[str, Any]) -> str:
        """Take options."""
        return f"{len(options)} taken"

    agent.add_tool(take, reads=True)
    wrong, right = calls(ask([call("take", options="all"), call("take", options={"a": 1}), ANSWERED]))[1:]
    assert (
        "'options' is \"all\", and must be an object." in wrong.detail and right.data["result"] == "1 taken"
    )


def test_arguments_that_no_store_can_hold_are_mended_or_refused(ask: Ask, fan: Athena) -> None:
    written = (
        "{'query': 'fan', 'more': {1: 2, 'b': 3}}",
        "{'query': {(1, 2): 3}}",
        '{"query": "fan \\ud800"}',
    )
    replies = [f"Thought: so\nAction: search\nAction Input: {given}" for given in written]
    answer = ask([*replies, ANSWERED])
    [turn] = fan.conversations.get(answer.conversation_id).turns
    assert [dict(step.data["arguments"]) for step in calls(turn.answer)[1:]] == [
        {"query": "fan", "more": {"1": 2, "b": 3}}, {"query": "fan ?"},
    ]  # fmt: skip


def test_words_that_rest_on_nothing_are_not_shown_before_the_answer(fan: Athena, agent: Agent) -> None:
    llm = FakeLLM(["Thought: I know.\nAnswer: The capital of France is Paris."])
    events = list(fan.chat(llm=llm, agent=agent).run("What is the capital of France?"))
    assert not [event for event in events if isinstance(event, TokenArrived) and "Paris" in event.text]
    last = events[-1]
    assert isinstance(last, AnswerFinished) and "Paris" not in last.answer.text
    assert "found nothing that answers" in last.answer.notices[0]


def test_an_unknown_tool_is_told_which_there_are(ask: Ask) -> None:
    answer = ask([call("launch", now=True), ANSWERED])
    assert "There is no tool 'launch'. There are search, read," in calls(answer)[1].detail


def test_the_same_call_is_stopped(ask: Ask) -> None:
    llm = FakeLLM([call("search", query="LN2 tank")], repeat=True)
    answer = ask(llm)
    assert [step.status for step in calls(answer)] == ["ok", "ok", "skipped", "skipped", "skipped"]
    assert "it repeated the same call" in answer.notices[0]


def test_no_more_steps_than_allowed(ask: Ask) -> None:
    replies = [call("search", query=f"fan number {number}") for number in range(20)]
    answer = ask([*replies])
    assert len(calls(answer)) == 8
    assert "it went on calling tools" in answer.notices[0]


def test_once_the_steps_are_used_up_it_is_asked_to_answer(ask: Ask) -> None:
    llm = FakeLLM([*(call("search", query=f"fan {number}") for number in range(7)), ANSWERED])
    answer = ask(llm)
    assert not answer.notices and answer.citations
    assert "No more tools can be called" in llm.prompts[-1]
    assert "No more tools can be called" not in llm.prompts[-2]


def test_documents_leave_room_for_what_a_tool_says(tmp_path: Path) -> None:
    def weigh() -> str:
        """Weigh the ship."""
        return "40 t"

    manual = tmp_path / "manual"
    manual.mkdir()
    (manual / "fan.md").write_text("# Cabin fan\n\n" + "The cabin fan hums at 4000 rpm.\n" * 2_000)
    with open_athena(load_settings(data_dir=tmp_path / "data", llm="none")) as athena:
        athena.ingest([manual])
        agent = open_agent(athena)
        agent.add_tool(weigh, reads=True)
        llm = FakeLLM([call("read", id="fan.md"), call("weigh"), ANSWERED])
        search, read, weighed = calls(athena.ask(QUESTION, llm=llm, agent=agent))
    assert search.data["tokens"] > 2_000 and read.detail.startswith("There is no room")
    assert weighed.data["result"] == "40 t" and "40 t" in llm.prompts[-1]


def test_a_failed_call_is_made_once_more_and_its_error_is_told(ask: Ask, agent: Agent) -> None:
    tries: list[int] = []

    def weigh() -> str:
        """Weigh the ship."""
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the scale moved")
        return "40 t"

    def broken() -> str:
        """Break."""
        raise RuntimeError("no scale [1]")

    agent.add_tool(weigh, reads=True)
    agent.add_tool(broken, reads=True)
    llm = FakeLLM([call("weigh"), call("broken"), ANSWERED])
    first, second = calls(ask(llm))[1:]
    assert (first.status, first.data["attempts"], first.data["result"]) == ("ok", 2, "40 t")
    assert (second.status, second.data["attempts"], second.detail) == (
        "failed",
        2,
        "RuntimeError: no scale [1]",
    )
    assert re.search(r"<result \w{8}>\nRuntimeError: no scale \\\[1\]\n</result \w{8}>", llm.prompts[-1])


@pytest.mark.parametrize("more", [0, 50_000])
def test_no_half_of_a_secret_is_left_where_a_result_is_cut(more: int) -> None:
    secret, most = "Qx7Kp2Lm9Zt4Rw8Vb1Nc6", MOST_TOKENS * CHARACTERS_A_TOKEN
    hide({"openai_api_key": secret})
    for before in (most - 10, most + LONGEST_SECRET - 10):
        assert secret[:5] not in as_text("a " * (before // 2) + secret + " b" * more)


def test_an_answer_without_end_is_taken_as_far_as_it_was_shown(ask: Ask) -> None:
    answer = ask(["Thought: x\nAnswer: The cabin fan hums at 4000 rpm [1]. " + "It hums. " * 4_000])
    assert answer.citations and not answer.notices
    assert 15_000 < len(answer.text) <= LONGEST_REPLY


def test_a_hanging_tool_is_left_behind(ask: Ask, agent: Agent, fan: Athena) -> None:
    ended = threading.Event()

    def hang() -> str:
        """Hang."""
        ended.wait(120)
        return ""

    agent.add_tool(hang, reads=True)
    fan.settings = fan.settings.model_copy(update={"agent_timeout_s": 1.5})
    begun = time.monotonic()
    try:
        answer = ask([call("hang"), ANSWERED])
    finally:
        fan.settings = fan.settings.model_copy(update={"agent_timeout_s": 60.0})
        ended.set()
    assert time.monotonic() - begun < 60
    assert calls(answer)[1].status == "failed" and "was not done within" in calls(answer)[1].detail


HUGE = "x y " * 13_000_000  # 52 MB


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (HUGE, "… (52,000,000 characters)"),
        (b"\x00\xff" * 25_000_000, "(50,000,000 bytes that are no text)"),
        (None, "null"),
        ({"a": [1, {2}]}, '{"a": [1, "{2}"]}'),
        ("tab\tand \x00null\x07", "tab\tand null"),
    ],
    ids=["50 MB", "bytes", "nothing", "not JSON", "control characters"],
)
def test_what_tools_return(ask: Ask, agent: Agent, gives: object, said: str) -> None:
    def give() -> Any:
        """Give."""
        return gives

    agent.add_tool(give, reads=True)
    llm = FakeLLM([call("give"), ANSWERED])
    step = calls(ask(llm))[1]
    assert step.status == "ok" and step.data["result"].endswith(said)
    assert len(step.data["result"]) < 33_000 and step.data["tokens"] <= 4_000
    assert len(llm.prompts[-1]) < 60_000


def test_huge_arguments_are_kept_short(ask: Ask, agent: Agent) -> None:
    got: list[int] = []

    def take(text: str) -> str:
        """Take a text."""
        got.append(len(text))
        return "taken"

    agent.add_tool(take, reads=True)
    answer = ask([call("take", text="word " * 3_000), call("take", text="x" * 30_000), ANSWERED])
    assert got == [15_000]
    assert all(len(str(step.data["arguments"])) < 2_500 for step in calls(answer))
    assert sum(step.status == "failed" for step in answer.steps if step.name == "think") == 1


def test_a_tool_that_writes_is_asked_for(ask: Ask, agent: Agent) -> None:
    done: list[str] = []

    def order(part: str) -> str:
        """Order a part."""
        done.append(part)
        return "ordered"

    agent.add_tool(order)
    refused = ask([call("order", part="fan"), ANSWERED])
    assert not done and "did not allow" in calls(refused)[1].detail
    asked: list[Any] = []

    def consent(tool: Any, arguments: Any, _: threading.Event) -> bool:
        asked.append((tool.tool.name, arguments))
        return True

    answer = ask([call("order", part="fan"), ANSWERED], agent=agent.but(consent=consent))
    assert done == ["fan"] and asked == [("order", {"part": "fan"})]
    assert calls(answer)[1].data["result"] == "ordered"


def test_tools_come_and_go(agent: Agent) -> None:
    def weigh() -> str:
        """Weigh."""
        return ""

    agent.add_tool(weigh, reads=True)
    assert agent.all_tools["weigh"].tool.says == "Weigh."
    with pytest.raises(ConfigurationError, match="There is a tool 'weigh' already"):
        agent.add_tool(weigh)
    agent.remove_tool("weigh")
    assert "weigh" not in agent.all_tools
    with pytest.raises(ConfigurationError, match="No tool 'weigh' was added"):
        agent.remove_tool("weigh")
    with pytest.raises(ConfigurationError, match="cannot be a tool"):
        agent.add_tool(lambda *args: args)


def test_two_conversations_have_other_tools(fan: Athena, agent: Agent) -> None:
    def weigh() -> str:
        """Weigh."""
        time.sleep(0.2)
        return "40 t"

    agent.add_tool(weigh, reads=True)
    found: dict[str, Any] = {}

    def one(name: str, without: tuple[str, ...]) -> None:
        llm = FakeLLM([call("weigh"), ANSWERED])
        found[name] = fan.ask(QUESTION, llm=llm, agent=agent.but(without=without)), llm.prompts[0]

    threads = [threading.Thread(target=one, args=given) for given in (("with", ()), ("less", ("weigh",)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls(found["with"][0])[1].data["result"] == "40 t"
    assert "There is no tool 'weigh'" in calls(found["less"][0])[1].detail
    assert "Tool Name: weigh" in found["with"][1] and "Tool Name: weigh" not in found["less"][1]


def test_without_a_model_it_is_not_offered(fan: Athena, agent: Agent) -> None:
    assert "none is connected" in why_not(fan)
    assert not why_not(fan, FakeLLM([]))
    answer = fan.ask(QUESTION, agent=agent)
    assert answer.mode == "quote" and not calls(answer)


# -- memory -------------------------------------------------------------------------------------------------


def test_memories_are_recalled_by_id_and_are_no_evidence(ask: Ask, fan: Athena) -> None:
    fan.memory.add("I live in Turin.")
    answer = ask(
        [call("search", query="fan"), "Thought: so\nAnswer: Your home is in Turin [1]."],
        "In which town is my home?",
    )
    first = calls(answer)[0]
    assert (first.data["tool"], first.data["kind"]) == ("recall", "memory")
    assert (
        first.data["recalled"] and "Turin" not in first.data["result"] and "[memory " in first.data["result"]
    )
    assert set(first.data["recalled"]) & set(answer.recalled)
    assert not any(cited.verified for cited in answer.citations)
    fan.memory.forget(fan.memory.forgetting(list(first.data["recalled"])[:1]))
    stored = fan.conversations.get(answer.conversation_id).turns[-1].answer
    assert "Turin" not in str([step for step in stored.steps if step.name == "tool"])


def test_a_private_conversation_remembers_nothing(ask: Ask, fan: Athena, agent: Agent) -> None:
    llm = FakeLLM([call("remember", text="I like tea."), ANSWERED])
    answer = ask(llm, private=True, agent=agent.but(consent=lambda *_: True))
    assert "There is no tool 'remember'" in calls(answer)[1].detail
    assert not any("tea" in memory.text for memory in fan.memory.list())


# -- stopping -----------------------------------------------------------------------------------------------


def _events(fan: Athena, agent: Agent, llm: FakeLLM, stop_at: int) -> tuple[list[Any], Any]:
    stop = threading.Event()
    chat = fan.chat(llm=llm, agent=agent)
    events = []
    for event in chat.run(QUESTION, stop=stop):
        events.append(event)
        if len(events) == stop_at:
            stop.set()
    return events, chat


def test_stop_works_in_the_middle_of_a_tool(fan: Athena, agent: Agent) -> None:
    started, ended, stop = threading.Event(), threading.Event(), threading.Event()

    def hang() -> str:
        """Hang."""
        started.set()
        ended.wait(120)
        return ""

    agent.add_tool(hang, reads=True)
    threading.Thread(target=lambda: (started.wait(10), stop.set())).start()
    begun = time.monotonic()
    events = list(fan.chat(llm=FakeLLM([call("hang")]), agent=agent).run(QUESTION, stop=stop))
    ended.set()
    assert time.monotonic() - begun < 60
    assert isinstance(events[-1], AnswerFinished) and events[-1].answer.status == "stopped"


def test_the_loop_itself_takes_little_time(fan: Athena, agent: Agent) -> None:
    def give(number: int) -> str:
        """Give."""
        return "x" * number

    agent.add_tool(give, reads=True)
    llm = FakeLLM([*(call("give", number=number) for number in range(1, 7)), ANSWERED])
    ends = [
        time.perf_counter()
        for event in fan.chat(llm=llm, agent=agent).run(QUESTION)
        if isinstance(event, StepFinished) and event.step.name == "tool"
    ]
    steps = [later - sooner for sooner, later in pairwise(ends)]
    assert len(steps) == 6 and min(steps) < POLL_S  # the quickest: the machine may be busy


def test_the_parser_is_not_slow_on_anything() -> None:
    begun = time.thread_time()
    for text in ("Action: " * 2_400, "\n" * 19_000, "{" * 19_000, "Thought: " + "a\n" * 9_000 + "Action: x"):
        with pytest.raises(ValueError, match=r"\w"):
            StrictParser().parse(text)
    with pytest.raises(ValueError, match="no JSON object"):
        StrictParser().parse("Action: a\nAction Input: " + '{"a":' * 3_000)
    assert time.thread_time() - begun < 5


def test_what_is_asked_in_a_terminal_brings_no_orders_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: asked.append(text))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    [tool] = named_tools("shutil:rmtree")
    path = "/home\x1b[2K\rRead\n\nweather may change something: {}\nCall weather?\u202e"
    _consent(tool, {"path": path}, threading.Event())
    given, question = asked[0].split("\n")
    assert r"/home\u001b[2K\rRead\n\nweather" in given and "\N{RIGHT-TO-LEFT OVERRIDE}" not in given
    assert question == "Call rmtree?"
