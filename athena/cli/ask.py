"""`athena ask`: an answer with its citations; `athena agent`: with tools; `athena chat`: a conversation."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.cli.running import (
    AsJson,
    Conversation,
    DataDir,
    Llm,
    PathGlobs,
    Private,
    User,
    err,
    opened,
    out,
    require_words,
    say_error,
    show,
)
from pipeline.errors import ModelUnavailable
from pipeline.words import harmless

if TYPE_CHECKING:
    from agent import AgentTool
    from athena import Athena
    from pipeline.answering.turns import ChatAgent

Question = Annotated[str, typer.Argument(help="The question.")]


def ask(
    question: Question,
    conversation: Conversation = None,
    path: PathGlobs = None,
    llm: Llm = None,
    user: User = None,
    private: Private = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer one question, with citations."""
    require_words(question, "ask")
    with opened(data_dir, llm=llm, user=user) as athena:
        _ask(athena, question, as_json, conversation_id=conversation, paths=path, private=private)


def agent(
    question: Question,
    conversation: Conversation = None,
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer one question with tools that a language model chooses; ask before a tool changes something."""
    require_words(question, "ask")
    with opened(data_dir, llm=llm, user=user) as athena:
        _ask(athena, question, as_json, conversation_id=conversation, agent=_agent(athena))


def chat(
    conversation: Conversation = None,
    llm: Llm = None,
    user: User = None,
    private: Private = False,
    data_dir: DataDir = None,
) -> None:
    """Ask in a conversation; an empty line or Ctrl-D ends it, Ctrl-C stops an answer."""
    from athena.cli.answers import answer_of, answer_text
    from pipeline.answering.replies import without_model_note

    with opened(data_dir, llm=llm, user=user) as athena:
        recipe = athena.chat(conversation_id=conversation, private=private)
        while question := _read_question():
            answer, error = answer_of(recipe.run(question), err)
            if answer:
                brief = replace(answer, notices=without_model_note(answer.notices))
                out.print(answer_text(*athena.with_memories(brief)))
            if error:
                say_error(error)


def _read_question() -> str:
    """Return the next question; "" at the end of input and on Ctrl-C."""
    try:
        return err.input("[bold]› [/bold]").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


def _ask(athena: Athena, question: str, as_json: bool, **asking: Any) -> None:
    """Ask and print the answer; on an error, print the part that arrived before it, and raise the error."""
    from athena.cli.answers import answer_of, answer_text
    from athena.shapes import AnswerOut

    athena.warm_up()
    answer, error = answer_of(athena.chat(**asking).run(question), None if as_json else err)
    if answer:
        shown, recalled = athena.with_memories(answer)
        shape = AnswerOut.of(shown, recalled, error=str(error or ""))
        show(as_json, shape, lambda: answer_text(shown, recalled))
    if error:
        raise error


def _agent(athena: Athena) -> ChatAgent:
    """Return an agent that asks in the terminal before it changes something; raises `ModelUnavailable`."""
    from agent import open_agent

    model, choice = athena.models.language_model()
    if model is None:
        raise ModelUnavailable("The agent needs a language model, and none is connected.", choice.fix)
    return open_agent(athena, consent=_consent)


def _consent(tool: AgentTool, arguments: Mapping[str, Any], _stop: threading.Event) -> bool:
    """Ask whether a tool may change something; return False if standard input is no terminal."""
    if not sys.stdin.isatty():
        return False
    given = harmless(json.dumps(dict(arguments), ensure_ascii=False, default=str))
    called = tool.name  # also at the end: the arguments may be longer than the window
    return typer.confirm(f"{called} may change something: {given}\nCall {called}?", err=True)
