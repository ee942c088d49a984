"""Measure how well pages of real documentation are found: `python -m evals.sites FOLDER`.

`FOLDER/NAME/src` holds the pages of one site. The questions are rows of two JSON Lines files, each with the
`name` of its site. A row `{"title", "file"}` expects this file first. A row `{"q", "file", "any"}` expects an
answer from `file` (or one of `also`) and a quote that matches the regular expression `any`; if its `kind` is
`version`, the headings above the quote may match, too. A site without rows is asked for up to 40 of its own
titles, evenly spaced over the pages whose title is unique. Nothing is asked with a language model.

Prints a table with a row for each site: titles (right file first, in the first three), questions (right file
in the first three, fact in the first quote, in any quote), sections with marks of a generator, unread files.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import echo

from evals.datasets import default_folder, read_text

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answer import Answer

MARKS = re.compile(
    r"^\s*(?:/{3,}|:{2,}[\w-]*(?:{.*})?|!!!|\?\?\?\+?|===)\s|^\s*(?:import|export)\s.*\sfrom\s['\"]|\{%|\{\{[<%]|\{\*|<!--|%%"
    r"|^\s*>?\s*\[!\w+\]|!?\[\[|\{:|</?[A-Z]\w*[\s/>]|\[!(?:INCLUDE|div|code)|--8<--|data:[a-z]+/",
    re.MULTILINE,
)
"""Marks that a site generator replaces before readers see a page."""
TITLES = 40  # most titles to ask for in a site without rows
CODE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|(`+)[^`].*?\2", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Site:
    """The counts of one site (`marked`: sections, `unread`: files), and its rows that went wrong."""

    name: str
    counts: Counter[str]
    missed: tuple[str, ...] = ()


def measure(name: str, folder: Path, titles: Sequence[Any], questions: Sequence[Any]) -> Site:
    """Index one site in a temporary folder, ask for its titles and facts, and return the counts."""
    from athena import load_settings, open_athena

    with tempfile.TemporaryDirectory() as scratch:
        settings = load_settings(data_dir=scratch, llm="none", memory="none")
        with open_athena(settings) as athena:
            done = athena.ingest([folder])
            titles = titles or ([] if questions else own_titles(athena))
            counts = Counter(pages=done.total, sections=done.sections, titles=len(titles))
            counts["questions"] = len(questions)
            counts["marked"] = sum(bool(MARKS.search(CODE.sub("", text))) for text in shown_texts(athena))
            unread = [one for one in done.left_out if not one.reason.startswith(("without text", "named by"))]
            counts["unread"] = len(unread) + len(done.problems)
            found = [(f"title {row['title']!r}: {row['file']}", _titled(athena, row)) for row in titles]
            found += [(f"question {row['q']!r}: {row['file']}", _asked(athena, row)) for row in questions]
    for _, one in found:
        counts.update(one)
    return Site(name, counts, tuple(f"{row} {one}" for row, one in found if not all(one.values())))


def own_titles(athena: Athena) -> list[dict[str, str]]:
    """Return rows for up to `TITLES` pages with a unique title, evenly spaced in the order of their paths."""
    pages = sorted((page.source, page.title) for page in athena.store.documents() if page.sentences)
    times = Counter(title.casefold() for _, title in pages)
    rows = [{"title": title, "file": file} for file, title in pages if times[title.casefold()] == 1]
    return [rows[place * len(rows) // TITLES] for place in range(TITLES)] if len(rows) > TITLES else rows


def shown_texts(athena: Athena) -> Iterator[str]:
    """Yield the text of each indexed section as readers see it."""
    from readers.dialects import display

    for info in athena.store.documents():
        for section in athena.store.document(info.source).sections:
            yield display(section.metadata.get("shown", section.text))


def files_of(athena: Athena, question: str) -> list[str]:
    """Return the files of the passages found for a question, best first, each once."""
    return list(dict.fromkeys(one.section.metadata["source"] for one in athena.search(question).passages))


def _titled(athena: Athena, row: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the title's page is found first, and whether it is among the first three."""
    right = [_is(file, [row["file"]]) for file in files_of(athena, row["title"])[:3]]
    return {"first": any(right[:1]), "three": any(right)}


def _asked(athena: Athena, row: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the right file is among the first three, and the fact in the first and in any quote."""
    wanted = [row["file"], *row.get("also", ())]
    texts = quoted_texts(athena.ask(row["q"]), headings=row.get("kind") == "version")
    fact = re.compile(row.get("any", ""), re.IGNORECASE | re.DOTALL)
    return {
        "right file": any(_is(file, wanted) for file in files_of(athena, row["q"])[:3]),
        "first quote": any(map(fact.search, texts[:1])),
        "any quote": any(map(fact.search, texts)),
    }


def quoted_texts(answer: Answer, *, headings: bool) -> list[str]:
    """Return each quote after its headings (if asked for) and lead; the nearest quotes if none is cited."""
    cited = {citation.marker: citation for citation in answer.citations or answer.nearest}
    leads = {unit.marker: unit.lead for unit in answer.units}
    return [
        "\n".join(
            [*(cited[marker].heading_path if headings else ()), leads.get(marker, ""), cited[marker].quote]
        )
        for marker in (leads or cited)
        if marker in cited
    ]


def _is(file: str, wanted: Sequence[str]) -> bool:
    """Whether `file` is one of `wanted`; either name may have leading folders that the other lacks."""
    return any(name == file or name.endswith(f"/{file}") or file.endswith(f"/{name}") for name in wanted)


def load_rows(path: Path | None, name: str) -> list[Mapping[str, Any]]:
    """Return a site's rows in a JSON Lines file, [] without a file; raise `DatasetError` if unreadable."""
    rows = [json.loads(line) for line in (read_text(path) if path else "").splitlines() if line.strip()]
    return [row for row in rows if row["name"] == name]


def table(sites: Sequence[Site]) -> str:
    """Return the sites as a table in Markdown."""
    head = "| site | pages | titles first / in three | file / first quote / any quote | marked | unread |"
    rows = (
        f"| {site.name} | {n['pages']} | {n['first']} / {n['three']} of {n['titles']} "
        f"| {n['right file']} / {n['first quote']} / {n['any quote']} of {n['questions']} "
        f"| {n['marked'] / max(n['sections'], 1):.1%} | {n['unread']} |"
        for site in sites
        for n in (site.counts,)
    )
    return "\n".join([head, "|---|--:|---|---|--:|--:|", *rows])


def main() -> None:
    """Measure each site in the folder, and print the table."""
    ours = {path.stem: path for path in (default_folder() / "sites").glob("*.jsonl")}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--titles", type=Path, default=ours.get("titles"))
    parser.add_argument("--questions", type=Path, default=ours.get("questions"))
    parser.add_argument("--only", action="append", help="a site's name; may be repeated")
    parser.add_argument("--missed", action="store_true", help="also print the rows that went wrong")
    given = parser.parse_args()
    sites = []
    for folder in sorted(path for path in given.folder.iterdir() if (path / "src").is_dir()):
        if given.only and folder.name not in given.only:
            continue
        rows = [load_rows(path, folder.name) for path in (given.titles, given.questions)]
        sites.append(measure(folder.name, folder / "src", *rows))
        echo(table(sites[-1:]).splitlines()[-1], err=True)
        if given.missed:
            echo("\n".join(sites[-1].missed), err=True)
    total = sum((site.counts for site in sites), Counter[str]())
    echo(table([*sites, Site("all", total)]))


if __name__ == "__main__":
    main()
