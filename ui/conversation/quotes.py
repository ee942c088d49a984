"""Quotes as HTML, below the breadcrumb of their section; the sentence that answers is marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from pipeline.answer import Answer, Citation, Unit
from pipeline.answering.excerpts import Excerpt, shown
from pipeline.words import counted
from ui.shared.markdown import Span, crumbs, html_of, icon, tag

LAST = re.compile(r"(?:</(?:p|li|ul|ol|td|tr|tbody|table|div|code|pre|blockquote)>\s*)*\Z")
Quoted = tuple[Unit, Citation]


def quotes_html(answer: Answer) -> str:
    """Return the quotes in the order of the answer's units; below them a fold with the less relevant ones."""
    cited = {citation.marker: citation for citation in answer.citations}
    units = [(unit, cited.pop(unit.marker)) for unit in answer.units if unit.marker in cited]
    rest = [(Unit(one.marker, "paragraph", one.start, one.end, folded=True), one) for one in cited.values()]
    found = [*units, *rest]
    marked = answer.verdict == "answered"  # passages that perhaps do not answer get no mark
    folded = [item for item in found if item[0].folded]
    first = _groups([item for item in found if not item[0].folded], marked=marked)
    if not folded:
        return first
    label = tag("summary", counted(len(folded), "more passage"), icon("expand_more"))
    return first + tag("details", label, _groups(folded, marked=marked), class_="fold", data_fold="passages")


def _groups(quoted: Sequence[Quoted], *, marked: bool) -> str:
    """Return the quotes; neighbours from the same section share one breadcrumb."""
    made = []
    for place, group in groupby(quoted, key=lambda item: (item[1].source, *item[1].heading_path)):
        quotes = (_quote(unit, citation, marked=marked) for unit, citation in group)
        made.append(tag("section", crumbs(place), *quotes, class_="group"))
    return "".join(made)


def _quote(unit: Unit, citation: Citation, *, marked: bool) -> str:
    before, after = unit.cut(citation)
    inside = _line(before) + _excerpt(shown(unit, citation), unit, marked=marked) + _line(after)
    return tag("blockquote", inside, class_=f"quote {unit.kind}")


def _line(text: str) -> str:
    return tag("span", text, class_="more") if text else ""


def _excerpt(excerpt: Excerpt, unit: Unit, *, marked: bool) -> str:
    """Return the HTML of an excerpt, with its chip after the span that answers, else at its end."""
    spans = _answering(excerpt, unit) if marked else []
    html = html_of(excerpt.text, spans=spans)
    chip = f"<chip-{unit.marker}>"
    at = html.rfind("</mark>") + len("</mark>")
    if spans and at >= len("</mark>") and "</code></pre>" not in html[at : at + 16]:
        html = html[:at] + "\u2060" + chip + html[at:]
    else:
        end = LAST.search(html)
        place = end.start() if end and "<pre" not in html else len(html)
        html = f"{html[:place]} {chip}{html[place:]}"
    return (html_of(excerpt.lead) if excerpt.lead else "") + html


def _answering(excerpt: Excerpt, unit: Unit) -> list[Span]:
    """Return the span that answers; [] if there is none, if it is all of the excerpt, or in code."""
    if unit.answer_start is None or unit.answer_end is None or unit.kind == "code":
        return []
    first, last = excerpt.place(unit.answer_start), excerpt.place(unit.answer_end)
    rest = excerpt.text[excerpt.place(excerpt.start) : first] + excerpt.text[last:]
    words = any(map(str.isalnum, rest)) and any(map(str.isalnum, excerpt.text[first:last]))
    return [Span(first, last, "answer")] if words else []
