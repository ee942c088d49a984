"""Web pages in an ingest: fetched when they are named, kept, fetched again on request only, and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from athena import Athena
from athena.settings import Settings
from tests.readers.test_web import Site, server, site

__all__ = ["server", "site"]


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    settings = Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none", fetch_local=True)
    with closing(Athena(settings)) as opened:
        yield opened


def markdown(text: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "text/markdown"}, text.encode()


def test_a_page_is_indexed_and_fetched_again_only_when_it_is_named_again(
    athena: Athena, site: Site, tmp_path: Path
) -> None:
    page = f"{site.address}/fans"
    site.pages["/fans"] = markdown("# Fans\n\nThey hum.\n")
    (name,) = athena.ingest([page]).added
    assert name == f"{site.address.removeprefix('http://').replace(':', '-')}/fans.md"
    site.pages["/fans"] = markdown("# Fans\n\nThey are silent.\n")
    assert athena.ingest([tmp_path / "data" / "web"]).unchanged == (name,)
    assert len(site.asked) == 1
    assert athena.ingest([page]).changed == (name,)
    assert "silent" in athena.store.sections.document(name).text


def test_a_page_that_fails_is_named_and_keeps_nothing_back(
    athena: Athena, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    site.pages["/good"] = markdown("# Good\n\nText.\n")
    report = athena.ingest([f"{site.address}/missing", f"{site.address}/good", tmp_path / "a.md"])
    assert len(report.added) == 2
    assert [(problem.source, problem.reason) for problem in report.problems] == [
        (f"{site.address}/missing", "the server answers 404 Not Found")
    ]


def test_cancelling_ends_the_fetching(athena: Athena, site: Site) -> None:
    for name in "abc":
        site.pages[f"/{name}"] = markdown(f"# {name}\n\nText.\n")
    pages = [f"{site.address}/{name}" for name in "abc"]
    report = athena.ingest(pages, should_stop=lambda: len(site.asked) > 0)
    assert report.stopped
    assert (report.added, report.problems) == ((), ())
    assert len(site.asked) == 1
