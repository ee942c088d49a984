"""How much memory an index wants: the arithmetic, and that the page has what the command prints."""

from __future__ import annotations

from pathlib import Path

from bench.server_sizes import DIMENSIONS, Size, bytes_a_document, computed
from pipeline.stores.server import ServerAddresses

PAGE = (Path(__file__).parents[2] / "docs/server.md").read_text()


def test_the_arithmetic() -> None:
    size = Size(1_000_000, "none")
    assert size.objects == 1_200_000
    assert size.weaviate_bytes == 2 * 1_200_000 * (4 * DIMENSIONS + 64 * 10)
    assert (Size(10_000_000, "none").nodes, Size(10_000_000, "rq").nodes) == (2, 1)
    assert Size(100_000_000, "bq").weaviate_bytes < Size(100_000_000, "rq").weaviate_bytes / 1.5
    assert 200 < bytes_a_document() < 5000


def test_the_page_has_what_the_command_prints() -> None:
    """But for the app's memory, which depends on the version of Python."""
    for row in computed([10**6, 10**7, 10**8]).splitlines()[2:]:
        assert row.rpartition(" | ")[0] in PAGE


def test_every_quantizer_is_there() -> None:
    for quantizer in ("none", "rq", "bq"):
        assert ServerAddresses(weaviate_quantizer=quantizer).weaviate_quantizer == quantizer
        assert Size(1_000, quantizer).weaviate_bytes > 0
