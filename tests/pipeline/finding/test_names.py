"""Names: which shapes are names, and what they move to the front."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.finding.fusion import Fused
from pipeline.finding.names import is_named, is_title, names_first
from pipeline.finding.passages import fetch_sections
from pipeline.nodes import StoredNode


def section(source: str, *headings: str, **metadata: Any) -> StoredNode:
    known = {"source": source, "title": headings[0], "heading_path": list(headings), "order": 1}
    return StoredNode(f"{source}#{'/'.join(headings)}", "Text.", known | metadata, 0, 5, source)


def order(question: str, *sections: StoredNode) -> list[int]:
    """The places that the sections had before."""
    return names_first(range(len(sections)), sections, question)


def test_the_page_whose_title_is_the_question_precedes_sections_that_have_the_words() -> None:
    list_of_all = section("alerts.md", "Alerts", "Alertmanager failed to send alerts", order=3)
    page = section("a.md", "AlertmanagerFailedToSendAlerts", order=0)
    alias = section("b.md", "Sending", aliases=["alertmanager: failed to send alerts"], order=0)
    later = section("a.md", "AlertmanagerFailedToSendAlerts", "Meaning", order=1)
    assert order("Alertmanager Failed To Send Alerts", list_of_all, later, alias, page) == [3, 2, 0, 1]
    assert not is_title("", section("a.md", "", order=0))


def test_the_section_that_is_named_precedes_those_below_and_around_it() -> None:
    guide = [
        section("guide.md", "Guide", "2 Setup", "2.2 Wiring", "2.2.1 Main supply"),
        section("guide.md", "Guide", "3 Operation", "3.1 Start"),
        section("guide.md", "Guide", "2 Setup", "2.2 Wiring"),
    ]
    assert order("section 2.2", *guide) == [2, 0, 1]
    assert order("What does section 2.2.1 say?", *guide) == [0, 1, 2]
    assert order("2.2 or 3.1?", *guide) == [0, 1, 2]  # no section has both
    assert [is_named("section 2.2", node) for node in guide] == [False, False, True]
    assert not is_named("section", guide[0])
    other, file = section("drain.md", "Drain"), section("P-310.md", "Pump", "Hotline", aliases=["P-310"])
    assert order("hotline of the P-310 booster", other, file) == [1, 0]
    papers = [section(f"{n}.md", f"IL-10 in study {n}") for n in range(4)]
    assert order("IL-10", other, *papers[1:]) == [1, 2, 3, 0]
    assert order("IL-10", other, *papers) == [0, 1, 2, 3, 4]  # many headings have it: it tells none apart
    notes = [section("7.4.md", "New in 7.4", f"Change {n}") for n in range(5)]
    assert order("how long is 7.4 supported", other, *notes) == [1, 2, 3, 0, 4, 5]


def test_the_number_of_a_section_is_a_name_where_it_is_said_to_be_one_or_nothing_fits_better() -> None:
    rules = [section("r.md", "Rules", heading) for heading in ("Scope", "7. Liability", "Chapter 12: Law")]
    assert order("what does section 7 say", *rules) == [1, 0, 2]
    assert order("chapter 12", *rules) == [2, 0, 1]
    topic, other = section("g.md", "Guide", "3.11 Valves"), section("g.md", "Guide", "3.11 Python valves")
    needs = replace(section("g.md", "Guide", "1.2 Needs"), text="Python 3.11 or newer is supported.")
    assert order("is Python 3.11 supported", needs, topic) == [0, 1]  # as they were
    assert order("section 3.11 for Python", needs, topic, other) == [2, 1, 0]


def test_a_version_that_is_named_is_searched_alone_and_else_the_newest() -> None:
    pages = [
        section(f"docs/{v}/install.md", "Install", version=v) for v in ("version-3.5", "v3.10", "2.x", "1.0")
    ]
    only_old = section("docs/2.x/hooks.md", "Hooks", version="2.x")
    unversioned = section("install.md", "Install")
    assert order("how to install", *pages, only_old, unversioned) == [1, 4, 5]
    assert order("how to install in version 3.5?", *pages, only_old, unversioned) == [0, 5]
    assert order("install 2.7", *pages, only_old) == [2, 4]
    assert order("install 1.0", *pages) == [3]
    assert order("install 9.9", *pages) == [1]  # no page is of it
    huge = section("a.md", "A", version="v" + "9" * 5000)
    assert order("1." * 5000 + "9" * 5000, huge) == [0]


@pytest.mark.parametrize(("question", "asked", "first"), [("tank", [2], 0), ("C-7123", [2, 30], 29)])
def test_names_are_looked_for_further_down_where_there_are_any(
    question: str, asked: list[int], first: int
) -> None:
    nodes = [section(f"{n}.md", f"Alarm C-71{n:02}" if n < 29 else "Alarm C-7123") for n in range(30)]
    by_id, calls = {node.node_id: node for node in nodes}, list[int]()
    store: Any = SimpleNamespace(
        get_many=lambda ids: calls.append(len(ids)) or {id_: by_id[id_] for id_ in ids}, lacking=frozenset
    )
    ranking = [Fused(node.node_id, 1 - n / 30) for n, node in enumerate(nodes)]
    found = fetch_sections(ranking, question, store=store, depth=2)
    assert (calls, len(found), nodes[first] in [node for _, node in found]) == (asked, 2, True)
