"""`athena memory`: list, search, add, edit, pin, forget, export and import memories."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.running import AsJson, DataDir, Llm, User, listed, opened, require_words, show
from athena.shapes import SaidOut
from memory.shapes import MemoryOut
from pipeline.errors import AthenaError
from pipeline.words import harmless

if TYPE_CHECKING:
    from memory.keeping import Kept
    from memory.user_memory import UserMemory

app = typer.Typer(help="What is remembered: see it, change it, forget it.", no_args_is_help=True)

Known = MemoryOut | SaidOut
COLUMNS = ("score", "id", "kind", "text", "created_at", "pinned", "trusted")

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its first 8 letters.")]
History = Annotated[bool, typer.Option("--history", help="Include memories no longer valid.")]


@contextmanager
def memory_of(user: str | None, data_dir: Path | None, **flags: Any) -> Iterator[UserMemory]:
    """Yield the memory of a user; an `AthenaError` ends the command with a message."""
    with opened(data_dir, user=user, **flags) as athena:
        yield athena.memory


@app.command("list")
def list_(
    history: History = False, user: User = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the memories, pinned ones first, then the latest."""
    with memory_of(user, data_dir) as memory:
        shapes = [*map(MemoryOut.model_validate, memory.list(history=history))]
    show(as_json, shapes, lambda: _memories(shapes))


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, help="Most facts and most messages to show.")] = 10,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search the facts (by recency, importance and relevance) and the messages."""
    require_words(query, "search for")
    with memory_of(user, data_dir) as memory:
        facts = memory.search(query, limit=limit, history=history)
        said = memory.turns.find(query, least=memory.threshold, limit=limit)
        shapes: list[Known] = [*map(MemoryOut.found, facts)]
        shapes += [SaidOut.of(it.turn, score=it.score) for it in said]
    show(as_json, shapes, lambda: _memories(shapes))


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
        shapes = [MemoryOut.model_validate(memory.get(item)) for item in step.ids]
    outcome = {"added": step.added, "known": step.known, "replaced": step.replaced}
    shape = {**(dict(shapes[0]) if shapes else {}), "memories": shapes, "outcome": outcome}
    show(as_json, shape, lambda: _added(step, shapes))


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
        edited = MemoryOut.model_validate(memory.edit(memory_id, text))
    show(as_json, edited, lambda: edited.text)


@app.command()
def pin(
    memory_id: MemoryId,
    unpin: Annotated[bool, typer.Option("--unpin", help="End the protection.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Protect a memory from being summarised."""
    with memory_of(user, data_dir) as memory:
        pinned = MemoryOut.model_validate(memory.pin(memory_id, pinned=not unpin))
    show(as_json, pinned, lambda: pinned.text)


@app.command()
def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Fact and message ids.")] = None,
    search: Annotated[str | None, typer.Option(help="All with these words.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All facts, messages and names.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Forget them; else only list them.")] = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget facts, memories that were made from them, and messages."""
    if sum([bool(ids), search is not None, everything]) != 1:
        raise typer.BadParameter("give exactly one of: ids, --search QUERY, --all.")
    if search is not None:
        require_words(search, "forget")
    with memory_of(user, data_dir) as memory:
        found = memory.forgetting(ids or (), search=search or "", everything=everything)
        if not yes:
            gone: list[Known] = [
                *map(MemoryOut.model_validate, found.memories),
                *map(SaidOut.of, found.turns),
            ]
            show(as_json, {"would_forget": gone}, lambda: _would_forget(gone))
            return
        memory.forget(found)
        forgotten = [*found.ids, *map(SaidOut.of, found.turns)]
        show(as_json, {"forgotten": forgotten}, lambda: f"{len(forgotten)} forgotten.")


@app.command()
def export(
    path: Annotated[Path | None, typer.Argument(help="A file to write; default: print it.")] = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write all memories as JSON to a file, or print them."""
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
            data = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AthenaError(f"Cannot read '{path}': {error}.", "Name an export of memories.") from error
        number = transfer.imported(memory, data)
        show(as_json, {"imported": number}, lambda: f"{number} imported.")


@app.command()
def graph(
    to: Annotated[Literal["neo4j"], typer.Option(help="Where the graph is written.")] = "neo4j",
    url: Annotated[str, typer.Option(help="Where Neo4j answers.")] = "bolt://127.0.0.1:7687",
    password: Annotated[
        str, typer.Option(envvar="ATHENA_NEO4J_PASSWORD", help="Neo4j's password.", show_default=False)
    ] = "",
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write the entities and relations to Neo4j, in place of those written before."""
    from pipeline.stores.neo4j import export_graph

    with opened(data_dir, user=user) as athena:
        known = athena.store.memories.load(athena.settings.user)
        entities, relations = export_graph(known, url=url, password=password)
    done = {"to": to, "entities": entities, "relations": relations}
    show(as_json, done, lambda: f"{entities:,} entities and {relations:,} relations written to {url}.")


def _memories(shapes: Sequence[Known]) -> RenderableType:
    """Return memories and messages as a table; long texts are cut."""
    if not shapes:
        return Text("Nothing.")
    rows = [{**dict(one), "id": one.id[:8], "created_at": f"{one.created_at:%Y-%m-%d}"} for one in shapes]
    return listed(rows, [name for name in COLUMNS if any(row.get(name) is not None for row in rows)])


def _added(step: Kept, shapes: Sequence[MemoryOut]) -> RenderableType:
    """Return the text about a new memory, and about the one that it replaced."""
    if not step.added:
        return Text(f"It is known already: {shapes[0].text}" if shapes else "Nothing to remember.")
    lines = [f"Remembered: {shape.text}" for shape in shapes]
    if step.replaced:
        lines.append("It replaces an earlier memory; `athena memory list --history` shows both.")
    if not all(shape.trusted for shape in shapes):
        lines.append("It reads like an instruction: kept, and never acted on.")
    return Text("\n".join(lines))


def _would_forget(shapes: Sequence[Known]) -> RenderableType:
    """Return what would be forgotten, and how to confirm it."""
    if not shapes:
        return Text("There is nothing to forget.")
    return Group(_memories(shapes), Text("Messages are deleted with their answers. To do it, add --yes."))
