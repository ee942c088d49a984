"""`athena ask`: one question, one answer with its citations."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.options import (
    AsJson,
    Conversation,
    DataDir,
    Hyde,
    Llm,
    PathGlobs,
    Private,
    Rerank,
    User,
    Verbatim,
)
from athena.cli.running import as_set, check_private, err, flush, opened, show
from pipeline.stores.globs import as_globs


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    conversation: Conversation = None,
    path: PathGlobs = None,
    llm: Llm = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    verbatim: Verbatim = False,
    user: User = None,
    private: Private = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer one question, with citations."""
    from athena.cli.answers import Unanswered, answer_text, ask_quietly, watch_answer, without_failure
    from athena.shapes import answer_shape

    if not any(map(str.isalnum, question)):
        raise typer.BadParameter('it is empty. Ask in words, as in: athena ask "What feeds the cabin fan?"')
    check_private(private, conversation)
    flags = {"llm": llm, "hyde": hyde, "rerank": rerank, "spelling": as_set(verbatim), "user": user}
    with opened(data_dir, **flags) as athena:
        athena.warm_up()
        chat = athena.chat(conversation_id=conversation, paths=as_globs(path), private=private)
        try:
            answer = ask_quietly(chat, question) if as_json else watch_answer(chat, question, err)
        except Unanswered as failed:
            if failed.answer:
                partial, recalled = athena.with_memories(failed.answer)
                shape = answer_shape(partial, recalled, error=str(failed))
                show(as_json, shape, lambda: answer_text(without_failure(partial), recalled))
                flush()
            raise
        answer, recalled = athena.with_memories(answer)
        # Before traces are waited for, and before anything is remembered.
        show(as_json, answer_shape(answer, recalled), lambda: answer_text(answer, recalled))
        flush()
