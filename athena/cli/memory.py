"""`athena memory`: list, search, add, edit, pin, forget, export and import memories."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import AsJson, DataDir, Llm, User
from athena.cli.running import opened, require_words, show, table
from memory.shapes import found_shape, memory_shape, said_shape, turn_shape
from memory.times import local_day
from pipeline.errors import AthenaError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.words import harmless

if TYPE_CHECKING:
    from memory.forgetting import Forgetting
    from memory.keeping import Kept
    from memory.recall import FoundMemory
    from memory.turn_index import FoundTurn, Turn
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

app = typer.Typer(help="What is remembered: see it, change it, forget it.", no_args_is_help=True)

LINE = 160  # characters of a memory in a list; `--json` has all of them

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its first 8 letters.")]
History = Annotated[bool, typer.Option("--history", help="Also memories that have ended.")]


@contextmanager
def memory_of(user: str | None, data_dir: Path | None, **flags: Any) -> Iterator[UserMemory]:
    """Open the memory of a user; its errors end the command clearly."""
    with opened(data_dir, user=user, **flags) as athena:
        yield athena.memory


@app.command("list")
def list_(
    history: History = False, user: User = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List what is remembered, the pinned first, then the latest."""
    with memory_of(user, data_dir) as memory:
        kept = memory.list(history=history)
        show(as_json, [memory_shape(item) for item in kept], lambda: memories_text(kept))


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, help="Most facts, and most messages, to show.")] = 10,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search the facts, by recency, importance and relevance, and the messages."""
    require_words(query, "search for")
    with memory_of(user, data_dir) as memory:
        facts = memory.search(query, limit=limit, history=history)
        said = memory.find_said(query, limit=limit)
        shapes = [*map(found_shape, facts), *map(turn_shape, said)]
        show(as_json, shapes, lambda: found_text(facts, said))


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remember something, word for word."""
    with memory_of(user, data_dir, llm=llm) as memory:
        step = memory.add(text)
        kept = [memory.get(item) for item in (*step.added, *step.known)]
        shapes = [memory_shape(item) for item in kept]
        outcome = {"added": step.added, "known": step.known, "replaced": step.replaced}
        shape = {**(shapes[0] if shapes else {}), "memories": shapes, "outcome": outcome}
        show(as_json, shape, lambda: added_text(step, kept))


@app.command()
def edit(
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="Its new text.")],
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change a memory's text; its id stays, its old text is erased."""
    with memory_of(user, data_dir) as memory:
        edited = memory.edit(memory_id, text)
        show(as_json, memory_shape(edited), lambda: memories_text([edited], whole=True))


@app.command()
def pin(
    memory_id: MemoryId,
    unpin: Annotated[bool, typer.Option("--unpin", help="End the protection.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Protect a memory from being summarised or forgotten by age."""
    with memory_of(user, data_dir) as memory:
        pinned = memory.pin(memory_id, pinned=not unpin)
        show(as_json, memory_shape(pinned), lambda: memories_text([pinned], whole=True))


@app.command()
def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Of facts and messages.")] = None,
    search: Annotated[str | None, typer.Option(help="All that this search finds.")] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="All that is older; pinned facts stay.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All facts, messages and names.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; else only show what would go.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget facts, what was made of them, and messages."""
    if sum([bool(ids), search is not None, older_than is not None, everything]) != 1:
        raise typer.BadParameter("say what: ids, --search QUERY, --older-than DAYS or --all.")
    if search is not None:
        require_words(search, "forget")
    with memory_of(user, data_dir) as memory:
        found = memory.forgetting(
            ids or (), search=search or "", older_than=older_than, everything=everything
        )
        if not yes:
            gone = [*map(memory_shape, found.memories), *map(said_shape, found.turns)]
            show(as_json, {"would_forget": gone}, lambda: would_forget_text(found))
            return
        memory.forget(found)
        forgotten = [*found.ids, *map(said_shape, found.turns)]
        show(as_json, {"forgotten": forgotten}, lambda: f"{len(forgotten)} forgotten.")


@app.command()
def export(
    path: Annotated[Path | None, typer.Argument(help="A file to write; else it is printed.")] = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write out all memories."""
    from memory import transfer

    with memory_of(user, data_dir) as memory:
        text = transfer.export(memory)
        if path is None:
            text = harmless(text) if sys.stdout.isatty() and not as_json else text
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            return
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise AthenaError(f"Cannot write '{path}': {error.strerror}.", "Name another file.") from error
        show(as_json, {"path": str(path)}, lambda: f"Written to {path}.")


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A file that `export` wrote.")],
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Import an export with the same ids and times; known memories stay as they are."""
    from memory import transfer

    with memory_of(user, data_dir) as memory:
        try:
            data = read_given(path, most_bytes=DATA_BYTES)
        except OSError as error:
            raise AthenaError(f"Cannot read '{path}': {error.strerror}.", "Check the path.") from error
        except UnicodeDecodeError as error:
            raise AthenaError(
                f"'{path}' is not an export of memories: not UTF-8.", "Check the file."
            ) from error
        number = transfer.imported(memory, data)
        nothing = "0 imported: all of it is there already."
        show(as_json, {"imported": number}, lambda: f"{number} imported." if number else nothing)


@app.command()
def graph(
    to: Annotated[Literal["neo4j"], typer.Option(help="Where the graph is written.")] = "neo4j",
    url: Annotated[str, typer.Option(help="Where Neo4j answers.")] = "bolt://127.0.0.1:7687",
    neo4j_user: Annotated[str, typer.Option(help="Neo4j's user.")] = "neo4j",
    password: Annotated[
        str, typer.Option(envvar="ATHENA_NEO4J_PASSWORD", help="Neo4j's password.", show_default=False)
    ] = "",
    database: Annotated[str, typer.Option(help="Neo4j's database.")] = "neo4j",
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write the entities and relations to Neo4j, in place of those written before."""
    from pipeline.stores.neo4j import Neo4jAddress, export_graph

    with opened(data_dir, user=user) as athena:
        known = athena.memories.load(athena.settings.user)
        entities, relations = export_graph(known, Neo4jAddress(url, neo4j_user, password, database))
    done = {"to": to, "entities": entities, "relations": relations}
    show(as_json, done, lambda: f"{entities:,} entities and {relations:,} relations written to {url}.")


# -- texts for the terminal ------------------------------------------------------------------------------


def memories_text(memories: Sequence[Memory], *, whole: bool = False) -> RenderableType:
    """Return memories as a table: the beginning of each, or the `whole`."""
    if not memories:
        return Text("Nothing is remembered.", style="dim")
    rows = [
        (memory.id[:8], memory.text if whole else _line(memory.text), _day(memory), _notes(memory))
        for memory in memories
    ]
    return table(("id", "memory", "since", ""), rows)


def found_text(found: Sequence[FoundMemory], said: Sequence[FoundTurn]) -> RenderableType:
    """Return found facts and messages as tables."""
    if not (found or said):
        return Text("Nothing is remembered about that.", style="dim")
    facts = [
        (f"{item.score:.2f}", item.memory.id[:8], _line(item.memory.text), _notes(item.memory))
        for item in found
    ]
    tables = [table(("score", "id", "memory", ""), facts)] if facts else []
    return Group(*tables, *([_turns([item.turn for item in said])] if said else []))


def added_text(step: Kept, kept: Sequence[Memory]) -> Text:
    """Return what was kept, and what it replaced."""
    if not step.added:
        return Text(f"Known already: {kept[0].text}" if kept else "Nothing to remember.")
    lines = [f"Remembered: {memory.text}" for memory in kept]
    if step.replaced:
        lines.append("It takes the place of what was known; `athena memory list --history` has both.")
    if not all(memory.trusted for memory in kept):
        lines.append("It reads like an instruction: kept, and never acted on.")
    return Text("\n".join(lines))


def would_forget_text(found: Forgetting) -> RenderableType:
    """Return what would be forgotten, and how to confirm it."""
    if not found:
        return Text("There is nothing to forget.", style="dim")
    lines: list[RenderableType] = [memories_text(found.memories)] if found.memories else []
    if found.turns:
        lines += [_turns(found.turns), Text("Messages are deleted with their answers.")]
    if found.said_in:
        lines.append(Text("The messages that said it are deleted, too; others that say the same stay."))
    return Group(*lines, Text("Nothing is forgotten yet: add --yes.", style="yellow"))


def _turns(turns: Sequence[Turn]) -> Table:
    rows = [(local_day(turn.at), turn.who, _line(turn.text)) for turn in turns]
    return table(("said", "by", "message"), rows)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1].rstrip()}…"


def _day(memory: Memory) -> str:
    until = f" to {local_day(memory.ended_at)}" if memory.ended_at is not None else ""
    return local_day(memory.created_at) + until


def _notes(memory: Memory) -> Text:
    notes = {
        memory.tier.replace("_", "-"): memory.tier != "long_term",
        memory.kind: memory.kind != "fact",
        "pinned": memory.pinned,
        "not trusted": not memory.trusted,
    }
    return Text(", ".join(name for name, holds in notes.items() if holds), "dim")
