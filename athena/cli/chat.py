"""`athena chat`: a conversation at a prompt."""

from __future__ import annotations

from dataclasses import replace

from athena.cli.options import Conversation, DataDir, Llm, Private, User
from athena.cli.running import check_private, err, opened, out, say_error
from pipeline.errors import AthenaError


def chat(
    conversation: Conversation = None,
    llm: Llm = None,
    user: User = None,
    private: Private = False,
    data_dir: DataDir = None,
) -> None:
    """Ask in a conversation; an empty line or Ctrl-D ends it, Ctrl-C stops an answer."""
    from athena.cli.answers import answer_text, watch_answer
    from pipeline.answering.replies import without_model_note

    check_private(private, conversation)
    with opened(data_dir, llm=llm, user=user) as athena:
        athena.serving = True
        recipe = athena.chat(conversation_id=conversation, private=private)
        err.print(athena.banner(), style="dim")
        noted = False  # that no model is connected
        while question := _read_question():
            try:
                answer = watch_answer(recipe, question, err)
            except AthenaError as error:
                say_error(error)
                continue
            once = without_model_note(answer.notices)
            shown = replace(answer, notices=once) if noted else answer
            noted = noted or once != answer.notices
            out.print(answer_text(*athena.with_memories(shown)))


def _read_question() -> str:
    """The next question; "" at the end of input."""
    try:
        return err.input("[bold]› [/bold]").strip()
    except (EOFError, KeyboardInterrupt):
        return ""
