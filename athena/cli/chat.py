"""`athena chat`: a conversation at a prompt."""

from __future__ import annotations

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

    check_private(private, conversation)
    with opened(data_dir, llm=llm, user=user) as athena:
        athena.serving = True
        recipe = athena.chat(conversation_id=conversation, private=private)
        err.print(athena.banner(), style="dim")
        while question := _read_question():
            try:
                answer = watch_answer(recipe, question, err)
            except AthenaError as error:
                say_error(error)
                continue
            out.print(answer_text(*athena.with_memories(answer)))


def _read_question() -> str:
    """The next question; "" at the end of input."""
    try:
        return err.input("[bold]› [/bold]").strip()
    except (EOFError, KeyboardInterrupt):
        return ""
