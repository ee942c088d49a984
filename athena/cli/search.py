"""`athena search`: the passages for a question, or why a section is not among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.running import Alpha, AsJson, DataDir, PathGlobs, Rerank, opened, require_words, show
from readers.dialects import display

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answer import Passage, Retrieval, Verdict
    from pipeline.finding.why import Why

VERDICTS: Mapping[Verdict, str] = {
    "answered": "probably answer",
    "closest": "may not answer",
    "not in the documents": "probably do not answer",
}
EXCERPT = 240  # characters of a passage in a list of results


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    top_k: Annotated[int | None, typer.Option("--top-k", min=1, help="How many passages.")] = None,
    path: PathGlobs = None,
    why: Annotated[str | None, typer.Option(help="SOURCE#HEADING: why is this section not found?")] = None,
    alpha: Alpha = None,
    rerank: Rerank = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages for a question, without answering it."""
    from athena.shapes import SearchOut

    require_words(query, "search for")
    flags = {"top_k": top_k, "alpha": alpha, "rerank": rerank}
    with opened(data_dir, **flags) as athena:
        athena.warm_up()
        retrieval = athena.search(query, paths=path or (), all_ranks=bool(why))
        reason = _reason(athena, retrieval, why) if why else None
    shape = SearchOut.of(retrieval).model_copy(update={"why": reason})
    show(as_json, shape, lambda: why_text(reason) if reason else search_text(retrieval))


def _reason(athena: Athena, retrieval: Retrieval, name: str) -> Why:
    """Return why SOURCE#HEADING is or is not among the passages; raises `typer.BadParameter`."""
    from pipeline.finding.why import why

    source, mark, heading = name.partition("#")
    if not mark or not heading:
        raise typer.BadParameter("write it as SOURCE#HEADING, as in systems/ecs.md#Cabin fan")
    return why(retrieval, store=athena.store, source=source, heading=heading)


def search_text(retrieval: Retrieval) -> Group:
    """Return the passages, best first, and the verdict."""
    return Group(*_lines(retrieval))


def _lines(retrieval: Retrieval) -> Iterator[RenderableType]:
    if not retrieval.passages:
        yield Text("Nothing was found. `athena doctor` shows whether anything is indexed.")
        return
    if retrieval.asked:
        yield Text(f"Showing results for {retrieval.question}.", "yellow")
    for rank, passage in enumerate(retrieval.passages, start=1):
        yield from _passage(rank, passage)
    verdict, chance = retrieval.answerability.verdict, retrieval.answerability.probability
    yield Text(f"The documents {VERDICTS[verdict]} this ({chance:.0%}).", style="dim")


def _passage(rank: int, passage: Passage) -> Iterator[RenderableType]:
    data = passage.node.metadata
    path = " › ".join([data["source"], *data["heading_path"]])
    place = f"  lines {data['start_line']}-{data['end_line']}, score {passage.score:.3f}"
    yield Text.assemble((f"{rank:>2}  {path}", "bold"), (place, "dim"))
    text = " ".join(display(data.get("shown", passage.node.text)).split())
    yield Text(f"    {text if len(text) <= EXCERPT else text[:EXCERPT].rsplit(' ', 1)[0] + ' …'}")


def why_text(why: Why) -> RenderableType:
    """Return the section's heading path, and why it was or was not selected."""
    title = Text(" › ".join([why.source, *why.heading_path]), style="bold")
    return Group(title, Text(why.explanation))
