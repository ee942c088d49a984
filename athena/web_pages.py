"""Web pages that somebody asked for: fetched once, and kept as files, which are indexed like others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from athena.settings import Settings
from pipeline.ingesting.documents import Problem

WEB = "web"
"""The folder of fetched pages in the data folder."""


def is_address(path: Path | str) -> bool:
    """Whether something to be indexed is a web page's address."""
    return isinstance(path, str) and path.lower().startswith(("http://", "https://"))


def fetch_pages(
    paths: Iterable[Path | str], settings: Settings, *, should_stop: Callable[[], bool] | None = None
) -> tuple[list[Path | str], tuple[Problem, ...]]:
    """The paths, the folder of fetched pages in the place of addresses, and why some were not fetched.

    `should_stop` ends it between pages and within one, from another thread; what was fetched by then stays.
    """
    given = list(paths)
    addresses = [str(path) for path in given if is_address(path)]
    if not addresses:
        return given, ()
    from readers.errors import FetchStopped, ReaderError
    from readers.web import PageFetcher

    folder = settings.data_dir / WEB
    problems: list[Problem] = []
    fetched: list[Path] = []
    with PageFetcher(
        folder,
        max_bytes=int(settings.max_converted_mb * 1_000_000),
        max_characters=int(settings.max_file_mb * 1_000_000),
        local=settings.fetch_local,
        convert_seconds=settings.convert_timeout_s,
        should_stop=should_stop,
    ) as fetcher:
        for address in dict.fromkeys(addresses):
            try:
                fetched.append(fetcher.fetch(address))
            except FetchStopped:
                break
            except ReaderError as error:
                problems.append(Problem.of(error))
    others = [path for path in given if not is_address(path)]
    return [*others, *([folder] if fetched else [])], tuple(problems)
