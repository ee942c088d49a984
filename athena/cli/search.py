"""`athena search`: the passages for a question, or why a section is not among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.answers import showing_results
from athena.cli.options import Alpha, AsJson, DataDir, Hyde, Llm, PathGlobs, Rerank
from athena.cli.running import opened, show
from pipeline.answer import with_page
from pipeline.stores.globs import as_globs
from readers.dialects import display

if TYPE_CHECKING:
    from pipeline.answer import Passage, Retrieval, Verdict
    from pipeline.finding.why import Place, Why

WORDS: Mapping[Verdict, str] = {
    "answered": "probably answer",
    "closest": "may not answer",
    "not in the documents": "probably do not answer",
}
EXCERPT = 240  # characters of a passage shown in a list of results


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    top_k: Annotated[int | None, typer.Option("--top-k", min=1, help="How many passages.")] = None,
    path: PathGlobs = None,
    why: Annotated[str | None, typer.Option(help="SOURCE#HEADING: what became of this section?")] = None,
    alpha: Alpha = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages for a question, without answering it."""
    from athena.shapes import SearchOut, WhyOut

    if not any(map(str.isalnum, query)):
        raise typer.BadParameter('it is empty. Search for words, as in: athena search "cabin fan"')
    flags = {
        "top_k": top_k,
        "alpha": alpha,
        "hyde": hyde,
        "rerank": rerank,
        "llm": llm,
    }
    with opened(data_dir, **flags) as athena:
        athena.warm_up()
        retrieval = athena.search(query, paths=as_globs(path))
        reason = athena.why(retrieval, *_section(why)) if why else None
    shape = SearchOut.of(retrieval)
    if reason:
        shape = shape.model_copy(update={"why": WhyOut.model_validate(reason)})
    show(as_json, shape, lambda: why_text(reason) if reason else search_text(retrieval))


def _section(name: str) -> tuple[str, str]:
    source, mark, heading = name.partition("#")
    if not mark or not heading:
        raise typer.BadParameter("write it as SOURCE#HEADING, as in systems/ecs.md#Cabin fan")
    return source, heading


def search_text(retrieval: Retrieval) -> RenderableType:
    """The passages, best first."""
    if not retrieval.passages:
        return Text("Nothing was found. Is anything indexed? `athena doctor` tells.")
    lines: list[RenderableType] = []
    if retrieval.asked:
        lines.append(showing_results(retrieval.question, instead_of=retrieval.asked))
    for rank, passage in enumerate(retrieval.passages, start=1):
        lines += _result_lines(rank, passage)
    judged = retrieval.answerability
    lines.append(Text(f"The documents {WORDS[judged.verdict]} this ({judged.probability:.0%}).", style="dim"))
    return Group(*lines)


def _result_lines(rank: int, passage: Passage) -> list[RenderableType]:
    node = passage.node
    breadcrumb = " › ".join(
        [with_page(node.metadata["source"], node.metadata.get("page")), *node.metadata["heading_path"]]
    )
    place = f"  lines {node.metadata['start_line']}-{node.metadata['end_line']}, score {passage.score:.3f}"
    text = " ".join(display(node.metadata.get("shown", node.text)).split())
    excerpt = text if len(text) <= EXCERPT else text[:EXCERPT].rsplit(" ", 1)[0] + " …"
    return [
        Text.assemble((f"{rank:>2}  ", "bold"), (breadcrumb, "bold"), (place, "dim")),
        Text(f"    {excerpt}"),
    ]


def why_text(why: Why) -> RenderableType:
    """What became of one section in a search."""
    if not why.places:
        return Text(why.explanation)
    table = Table(box=box.SIMPLE, title=" › ".join([why.source, *why.heading_path]), title_justify="left")
    for column in ("list", "rank", "score"):
        table.add_column(column, justify="left" if column == "list" else "right")
    for name, place in why.places.items():
        table.add_row(name, *_place(place))
    return Group(table, Text(why.explanation))


def _place(place: Place) -> tuple[str, str]:
    return (
        "-" if place.rank is None else str(place.rank),
        "-" if place.score is None else f"{place.score:.3f}",
    )
