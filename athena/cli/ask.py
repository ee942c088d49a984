"""`athena ask`: one question, one answer with its citations."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.cli.options import (
    Agent,
    AsJson,
    Conversation,
    DataDir,
    Hyde,
    Llm,
    PathGlobs,
    Private,
    Rerank,
    User,
)
from athena.cli.running import check_private, err, flush, opened, show
from pipeline.errors import ModelUnavailable
from pipeline.stores.globs import as_globs
from pipeline.words import harmless

if TYPE_CHECKING:
    from agent import AgentTool
    from athena import Athena
    from pipeline.answering.turns import ChatAgent


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    conversation: Conversation = None,
    path: PathGlobs = None,
    llm: Llm = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    user: User = None,
    private: Private = False,
    agent: Agent = False,
    image: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="PNG or JPEG for --agent, where its model can see."),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer one question, with citations."""
    from athena.cli.answers import (
        Unanswered,
        answer_text,
        ask_quietly,
        watch_answer,
        without_failure,
    )
    from athena.shapes import AnswerOut

    if not any(map(str.isalnum, question)):
        raise typer.BadParameter('it is empty. Ask in words, as in: athena ask "What feeds the cabin fan?"')
    if image and not agent:
        raise typer.BadParameter("only the agent looks at an image: add --agent.", param_hint="--image")
    if image and not image.is_file():  # a pipe may never end
        raise typer.BadParameter("it is not a regular file.", param_hint="--image")
    check_private(private, conversation)
    flags = {"llm": llm, "hyde": hyde, "rerank": rerank, "user": user}
    with opened(data_dir, **flags) as athena:
        athena.warm_up()
        quiet = redirect_stdout(sys.stderr) if as_json else nullcontext()  # tools may print
        with quiet:
            asked = _agent(athena, image) if agent else None
        chat = athena.chat(conversation_id=conversation, paths=as_globs(path), private=private, agent=asked)
        try:
            if asked is not None:
                with quiet:
                    answer = watch_answer(chat, question, err)
            else:
                answer = ask_quietly(chat, question) if as_json else watch_answer(chat, question, err)
        except Unanswered as failed:
            if failed.answer:
                partial, recalled = athena.with_memories(failed.answer)
                shape = AnswerOut.of(partial, recalled, error=str(failed))
                show(as_json, shape, lambda: answer_text(without_failure(partial), recalled))
                flush()
            raise
        answer, recalled = athena.with_memories(answer)
        # Before traces are waited for, and before anything is remembered.
        show(as_json, AnswerOut.of(answer, recalled), lambda: answer_text(answer, recalled))
        flush()


def _agent(athena: Athena, image: Path | None) -> ChatAgent:
    """The agent, which asks in the terminal before it writes; raises `ModelUnavailable` without a model."""
    from agent import open_agent, why_not

    if why := why_not(athena):
        raise ModelUnavailable(why)
    agent = open_agent(athena, consent=_consent)
    agent.servers.tools()  # they are reached now, so that what cannot be used is said before the answer
    for problem in agent.servers.problems.values():
        err.print(problem, style="yellow", markup=False)
    if image is None:
        return agent
    from agent.images import MOST_BYTES, image_tool

    with image.open("rb") as file:
        return agent.but(more=[image_tool(file.read(MOST_BYTES + 1), athena.models.language_model()[0])])


def _consent(tool: AgentTool, arguments: Mapping[str, Any], _stop: threading.Event) -> bool:
    """Whether the user lets a tool write; in a pipe there is nobody to ask."""
    if not sys.stdin.isatty():
        return False
    given = harmless(json.dumps(dict(arguments), ensure_ascii=False, default=str))
    called = tool.tool.name  # at the end, too: what it is called with may be longer than the window
    return typer.confirm(f"{called} may change something: {given}\nCall {called}?", err=True)
