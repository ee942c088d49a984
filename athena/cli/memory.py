"""`athena memory`: what is remembered about a user: seen, searched, changed, forgotten, taken along."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import AsJson, DataDir, Llm, User
from athena.cli.running import opened, out, show
from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from memory.forgetting import Forgetting
    from memory.recall import Found
    from memory.user_memory import UserMemory
    from pipeline.steps.records import RememberStep
    from pipeline.stores.memories import Memory, MemoryEvent

app = typer.Typer(help="What is remembered: see it, change it, forget it.", no_args_is_help=True)

NOTHING_NEW = "0 imported: all of it is there already."
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its first 8 letters.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="What was true then.")]
KnownAt = Annotated[str | None, typer.Option("--known-at", metavar="DATE", help="What was known then.")]
History = Annotated[bool, typer.Option("--history", help="Also what is over.")]


@contextmanager
def memory_of(user: str | None, data_dir: Path | None, **flags: Any) -> Iterator[UserMemory]:
    """The memory of a user; its errors end the command clearly."""
    with opened(data_dir, user=user, **flags) as athena:
        yield athena.memory


def _moments(as_of: str | None, known_at: str | None) -> dict[str, Any]:
    from memory.times import read_date

    return {
        "as_of": None if as_of is None else read_date(as_of, name="--as-of"),
        "known_at": None if known_at is None else read_date(known_at, name="--known-at"),
    }


@app.command("list")
def list_(
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List what is remembered, the pinned first, then the latest."""
    from memory.shapes import memory_shape

    with memory_of(user, data_dir) as memory:
        kept = memory.list(**_moments(as_of, known_at), history=history)
        show(as_json, [memory_shape(item) for item in kept], lambda: memories_text(kept))


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 10,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search what is remembered, by recency, importance and relevance."""
    from memory.shapes import found_shape

    _some(query, "search for")
    with memory_of(user, data_dir) as memory:
        found = memory.search(query, limit=limit, **_moments(as_of, known_at), history=history)
        show(as_json, [found_shape(item) for item in found], lambda: found_text(found))


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remember something; it replaces what it corrects."""
    from memory.shapes import memory_shape

    with memory_of(user, data_dir, llm=llm) as memory:
        step = memory.add(text)
        kept = [memory.get(item) for item in (*step.added, *step.known, *step.touched)]
        shapes = [memory_shape(item) for item in kept]
        shape = {**(shapes[0] if shapes else {}), "memories": shapes, "outcome": _done(step)}
        show(as_json, shape, lambda: added_text(step, kept))


@app.command()
def edit(
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="What it is to say.")],
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a memory say something else; its id stays, its old words are gone."""
    from memory.shapes import memory_shape

    with memory_of(user, data_dir) as memory:
        edited = memory.edit(memory_id, text)
        show(as_json, memory_shape(edited), lambda: memories_text([edited]))


@app.command()
def pin(
    memory_id: MemoryId,
    unpin: Annotated[bool, typer.Option("--unpin", help="Let it go again.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Keep a memory from being summarised or forgotten by age."""
    from memory.shapes import memory_shape

    with memory_of(user, data_dir) as memory:
        pinned = memory.pin(memory_id, pinned=not unpin)
        show(as_json, memory_shape(pinned), lambda: memories_text([pinned]))


@app.command()
def resolve(
    memory_id: MemoryId,
    wrong: Annotated[bool, typer.Option("--wrong", help="This one is wrong, not the others.")] = False,
    both: Annotated[bool, typer.Option("--both", help="All sides are right.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Decide a dispute: this memory is right, and what contradicts it is not."""
    from memory.shapes import memory_shape

    if both and wrong:
        raise typer.BadParameter("either one side is wrong (--wrong) or all are right (--both).")
    with memory_of(user, data_dir) as memory:
        memory_id = memory.get(memory_id).id
        if both:
            memory.keep_both(memory_id)
        else:
            memory.resolve(memory_id, believe=not wrong)
        decided = memory.get(memory_id)
        show(as_json, memory_shape(decided), lambda: memories_text([decided]))


@app.command()
def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Ids of memories.")] = None,
    search: Annotated[str | None, typer.Option(help="All that this search finds.")] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="All that is older; pinned ones stay.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of it, and the graph.")] = False,
    keep_words: Annotated[
        bool, typer.Option("--keep-words", help="Leave the words in the conversations that they came from.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without it, only what would go is shown.")
    ] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget memories, and what was made of them."""
    from memory.shapes import memory_shape

    given = sum([bool(ids), search is not None, older_than is not None, everything])
    if given != 1:
        raise typer.BadParameter("say what: ids, --search QUERY, --older-than DAYS or --all.")
    if search is not None:
        _some(search, "forget")
    with memory_of(user, data_dir) as memory:
        forgotten = memory.forgetting(
            ids or (), search=search or "", older_than=older_than, everything=everything
        )
        gone = [memory_shape(item) for item in forgotten.memories]
        if not yes:
            gone += [{"id": damaged, "damaged": True} for damaged in forgotten.damaged]
            show(as_json, {"would_forget": gone}, lambda: would_forget_text(forgotten))
            return
        memory.forget(forgotten, words=not keep_words, everything=everything)
        ids_gone = list(forgotten.ids)
        show(as_json, {"forgotten": ids_gone}, lambda: f"{len(ids_gone)} forgotten.")


@app.command()
def history(
    memory_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Of one memory only.")] = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what was done to memories and when; never what a forgotten one said."""
    from memory.shapes import event_shape

    with memory_of(user, data_dir) as memory:
        events = memory.history(memory_id or "")
        show(
            as_json,
            [event_shape(event) for event in events],
            lambda: events_text(events, memory_id=memory_id or ""),
        )


@app.command()
def export(
    path: Annotated[Path | None, typer.Argument(help="A file to write; otherwise it is printed.")] = None,
    form: Annotated[
        Literal["json", "markdown"], typer.Option("--format", help="json can be imported.")
    ] = "json",
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write out all memories."""
    with memory_of(user, data_dir) as memory:
        text = memory.export(form="json" if as_json else form)
        if path is None:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            return
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise AthenaError(f"Cannot write '{path}': {error.strerror}.", "Name another file.") from error
        show(as_json, {"path": str(path)}, lambda: f"Written to {path}.")


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="An export, or JSON with documents, metadatas and ids.")],
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take in an export, with the same ids and times; what is there already is left as it is."""
    with memory_of(user, data_dir) as memory:
        try:
            data = path.read_text(encoding="utf-8")
        except OSError as error:
            raise AthenaError(f"Cannot read '{path}': {error.strerror}.", "Check the path.") from error
        except UnicodeDecodeError as error:
            raise AthenaError(f"'{path}' is no export of memories: not UTF-8.", "Check the file.") from error
        number = memory.import_(data)
        show(as_json, {"imported": number}, lambda: f"{number} imported." if number else NOTHING_NEW)


@app.command()
def stats(user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Count what is remembered."""
    with memory_of(user, data_dir) as memory:
        counts = memory.stats()
        show(as_json, counts, lambda: stats_text(counts))


@app.command()
def rate(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID…]", help="Only these.")] = None,
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rate how much memories matter, 1 to 10, with the reason."""
    _upkeep(user, data_dir, llm, as_json, lambda memory: memory.rate(ids or ()))


@app.command()
def reflect(llm: Llm = None, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Make an insight of the latest memories; without a model, a digest of what they speak of most."""
    _upkeep(user, data_dir, llm, as_json, lambda memory: memory.reflect())


@app.command()
def plan(llm: Llm = None, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Make a plan for the rest of the day of what matters most; needs a language model."""
    _upkeep(user, data_dir, llm, as_json, lambda memory: memory.plan())


@app.command()
def summarize(
    conversations: Annotated[
        bool, typer.Option("--conversations", help="Instead, each past conversation, with its topics.")
    ] = False,
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Put two lines in the place of the five memories that matter least."""
    from memory.shapes import memory_shape

    with opened(data_dir, user=user, llm=llm) as athena:
        memory = athena.memory
        if conversations:
            infos = athena.conversations.list(user=memory.user)
            found = [athena.conversations.get(info.id) for info in infos]
            done = [made for one in found for made in memory.summarize_conversation(one)]
        else:
            done = [*memory.summarize()]
        shape = {"memories": [memory_shape(item) for item in done]}
        show(as_json, shape, lambda: memories_text(done, nothing="Nothing to do."))


@app.command()
def migrate(user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Move the oldest short-term memories that matter to long-term memory."""
    _upkeep(user, data_dir, None, as_json, lambda memory: memory.migrate())


def _upkeep(
    user: str | None,
    data_dir: Path | None,
    llm: str | None,
    as_json: bool,
    work: Callable[[UserMemory], Sequence[Memory]],
) -> None:
    from memory.shapes import memory_shape

    with memory_of(user, data_dir, llm=llm) as memory:
        done = work(memory)
        shape = {"memories": [memory_shape(item) for item in done]}
        show(as_json, shape, lambda: memories_text(done, nothing="Nothing to do."))


def _some(text: str, what: str) -> None:
    if not any(map(str.isalnum, text)):
        raise typer.BadParameter(f"there is nothing to {what} in it.")


def _done(step: RememberStep) -> dict[str, Any]:
    names = ("added", "known", "touched", "replaced", "disputed", "untrusted")
    return {name: value for name, value in asdict(step).items() if name in names}


# -- as text -----------------------------------------------------------------------------------------------


def memories_text(memories: Sequence[Memory], *, nothing: str = "Nothing is remembered.") -> RenderableType:
    """Memories as lines: what it says, since when, and what is to be known of it."""
    if not memories:
        return Text(nothing, style="dim")
    table = _table("id", "memory", "since", "")
    for memory in memories:
        table.add_row(memory.id[:8], Text(memory.text), _day(memory), Text(", ".join(_notes(memory)), "dim"))
    return table


def found_text(found: Sequence[Found]) -> RenderableType:
    """Memories that were found, with their scores."""
    if not found:
        return Text("Nothing is remembered about that.", style="dim")
    table = _table("score", "relevance", "id", "memory", "")
    for item in found:
        notes = Text(", ".join(_notes(item.memory)), "dim")
        scores = f"{item.score:.2f}", f"{item.relevance:.2f}"
        table.add_row(*scores, item.memory.id[:8], Text(item.memory.text), notes)
    return table


def added_text(step: RememberStep, kept: Sequence[Memory]) -> RenderableType:
    """What was kept, and what that changed."""
    if not step.added:
        return Text(f"Known already: {kept[0].text}" if kept else "Nothing to remember.")
    lines = [f"Remembered: {memory.text}" for memory in kept]
    if step.replaced:
        lines.append("It takes the place of what contradicted it; `athena memory list --history` has both.")
    if step.disputed:
        lines.append("It contradicts something: decide with `athena memory resolve ID`.")
    if step.untrusted:
        lines.append("It reads like an instruction: kept, and never acted on.")
    return Text("\n".join(lines))


def would_forget_text(forgotten: Forgetting) -> RenderableType:
    """What would be forgotten, and how to go on."""
    if not forgotten.ids:
        return Text("There is nothing to forget.", style="dim")
    if forgotten.memories:
        out.print(memories_text(forgotten.memories))
    if forgotten.damaged:
        out.print(f"damaged, and not to be read: {', '.join(forgotten.damaged)}")
    return Text("Nothing is forgotten yet: add --yes.", style="yellow")


def events_text(events: Sequence[MemoryEvent], *, memory_id: str = "") -> RenderableType:
    """What was done and when: to all, or to one memory."""
    from memory.times import local

    if not events:
        return Text("Nothing was done yet.", style="dim")
    table = _table("at", "", "id", "other")
    for event in events:
        table.add_row(
            f"{local(event.at):%Y-%m-%d %H:%M:%S}",
            event.action.lower(),
            event.memory_id[:8],
            event.other_id[:8],
        )
    if memory_id and events[-1].action == "DELETE":
        return Group(table, Text("It was forgotten: what it said is gone.", style="dim"))
    return table


def stats_text(counts: Any) -> RenderableType:
    """Counts, a line each."""
    table = _table("", "")
    for name, value in counts.items():
        text = (
            ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else value
        )
        table.add_row(name.replace("_", " "), str(text))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE, show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _day(memory: Memory) -> str:
    from memory.times import local_day

    since = memory.created_at if memory.valid_at is None else memory.valid_at
    until = f" to {local_day(memory.invalid_at)}" if memory.invalid_at is not None else ""
    return f"{local_day(since)}{until}"


def _notes(memory: Memory) -> list[str]:
    notes = {
        memory.tier.replace("_", "-"): memory.tier != "long_term",
        memory.kind: memory.kind != "fact",
        "pinned": memory.pinned,
        "disputed": bool(memory.disputed),
        "stale": memory.stale,
        "not trusted": not memory.trusted,
    }
    return [name for name, holds in notes.items() if holds]
