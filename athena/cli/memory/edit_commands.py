"""What is remembered, changed: `add`, `edit`, `pin`, `resolve`, `forget`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from athena.cli.memory.options import MemoryId, memory_of, some
from athena.cli.memory.texts import added_text, memories_text, would_forget_text
from athena.cli.options import AsJson, DataDir, Llm, User
from athena.cli.running import show
from pipeline.steps.records import Step, ids_of


def add(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remember something; it replaces what it corrects."""
    from memory.deciding.decisions import sides_of
    from memory.shapes import memory_shape

    with memory_of(user, data_dir, llm=llm) as memory:
        step = memory.add(text)
        kept = [memory.get(item) for item in ids_of(step, "added", "known", "touched")]
        disputed = map(memory.get, ids_of(step, "disputed"))
        sides = [side for item in disputed for side in sides_of(memory.index, item)]
        shapes = [memory_shape(item) for item in kept]
        shape = {**(shapes[0] if shapes else {}), "memories": shapes, "outcome": _done(step)}
        show(as_json, shape, lambda: added_text(step, kept, sides=sides))


def edit(
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="What it is to say.")],
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a memory say something else; its id stays, its old words are gone."""
    from memory.deciding import edits
    from memory.shapes import memory_shape

    with memory_of(user, data_dir) as memory:
        edited = edits.edit(memory, memory_id, text)
        show(as_json, memory_shape(edited), lambda: memories_text([edited], whole=True))


def pin(
    memory_id: MemoryId,
    unpin: Annotated[bool, typer.Option("--unpin", help="Let it go again.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Keep a memory from being summarised or forgotten by age."""
    from memory.deciding import edits
    from memory.shapes import memory_shape

    with memory_of(user, data_dir) as memory:
        pinned = edits.pin(memory, memory_id, pinned=not unpin)
        show(as_json, memory_shape(pinned), lambda: memories_text([pinned], whole=True))


def resolve(
    memory_id: MemoryId,
    wrong: Annotated[bool, typer.Option("--wrong", help="This one is wrong, not the others.")] = False,
    both: Annotated[bool, typer.Option("--both", help="All sides are right.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Decide a dispute: this memory is right, and what contradicts it is not."""
    from memory.deciding import edits
    from memory.shapes import memory_shape

    if both and wrong:
        raise typer.BadParameter("either one side is wrong (--wrong) or all are right (--both).")
    with memory_of(user, data_dir) as memory:
        memory_id = memory.get(memory_id).id
        edits.resolve(memory, memory_id, believe=None if both else not wrong)
        decided = memory.get(memory_id)
        show(as_json, memory_shape(decided), lambda: memories_text([decided], whole=True))


def forget(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID…", help="Ids of facts, and of messages.")
    ] = None,
    search: Annotated[str | None, typer.Option(help="All that this search finds.")] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="All that is older; pinned facts stay.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of it: facts, what was said, and the graph.")
    ] = False,
    keep_words: Annotated[
        bool,
        typer.Option("--keep-words", help="Leave the words in the conversations; they are not found again."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without it, only what would go is shown.")
    ] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget facts, what was made of them, and what was said."""
    from memory.shapes import memory_shape, said_shape

    given = sum([bool(ids), search is not None, older_than is not None, everything])
    if given != 1:
        raise typer.BadParameter("say what: ids, --search QUERY, --older-than DAYS or --all.")
    if search is not None:
        some(search, "forget")
    with memory_of(user, data_dir) as memory:
        said = memory.said(ids or ())
        forgotten = memory.forgetting(
            [known for known in ids or () if known not in said],
            turns=said,
            search=search or "",
            older_than=older_than,
            everything=everything,
        )
        gone = [memory_shape(item) for item in forgotten.memories]
        if not yes:
            gone += [{"id": damaged, "damaged": True} for damaged in forgotten.damaged]
            gone += map(said_shape, forgotten.turns)
            show(as_json, {"would_forget": gone}, lambda: would_forget_text(forgotten))
            return
        memory.forget(forgotten, words=not keep_words)
        done = [*forgotten.ids, *map(said_shape, forgotten.turns)]
        number = len(forgotten.ids) + len(forgotten.turn_ids)
        show(as_json, {"forgotten": done}, lambda: f"{number} forgotten.")


def _done(step: Step) -> dict[str, Any]:
    names = ("added", "known", "touched", "replaced", "disputed", "untrusted")
    return {name: step.data.get(name, []) for name in names}
