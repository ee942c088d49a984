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
    from athena.cli.answers import Unanswered, answer_text, watch_answer, without_failure
    from pipeline.answering.replies import has_model_note, without_model_note

    check_private(private, conversation)
    with opened(data_dir, llm=llm, user=user) as athena:
        athena.serving = True
        recipe = athena.chat(conversation_id=conversation, private=private)
        before = athena.conversations.get(conversation).turns if conversation else ()
        noted = any(has_model_note(turn.answer.notices) for turn in before)
        while question := _read_question():
            try:
                answer = watch_answer(recipe, question, err)
            except AthenaError as error:
                if isinstance(error, Unanswered) and error.answer:
                    out.print(answer_text(*athena.with_memories(without_failure(error.answer))))
                say_error(error)
                continue
            shown = replace(answer, notices=without_model_note(answer.notices)) if noted else answer
            noted = noted or has_model_note(answer.notices)
            out.print(answer_text(*athena.with_memories(shown)))


def _read_question() -> str:
    """Return the next question; "" at the end of input."""
    try:
        return err.input("[bold]› [/bold]").strip()
    except (EOFError, KeyboardInterrupt):
        return ""
