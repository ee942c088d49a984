"""The rows of the table: each number beside the baseline's, their ratio, the target, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.embedded.results import Record, Results
from bench.embedded.summary import highest, median, p50, p95, ratio

INGEST_TIMES_VNNI = 5.0
INGEST_TIMES_AVX2 = 3.0
AGAIN_SHARE = 0.03
QUERY_P95_MS = 40.0
QUERY_TIMES = 20.0
PEAK_MB = 900.0
ASK_SECONDS = 3.5
NDCG_AT_10 = 0.735
RECALL_AT_100 = 0.955


@dataclass(frozen=True, slots=True)
class Row:
    """One line; `holds` is None where there is no target or nothing was measured."""

    what: str
    athena: str
    baseline: str = ""
    ratio: str = ""
    target: str = ""
    holds: bool | None = None


def table_rows(results: Results) -> list[Row]:
    """All rows of the benchmarks that were run."""
    rows: list[Row] = []
    for record in results.records.values():
        kind, _, corpus = record.name.partition(":")
        if kind == "ingest":
            rows += ingest_rows(record, corpus, vnni=results.machine.vnni)
        elif kind == "retrieval":
            rows += retrieval_rows(record)
        elif kind == "ask":
            rows.append(ask_row(record))
        elif kind == "scifact":
            rows += scifact_rows(record)
    return rows


def ingest_rows(record: Record, corpus: str, *, vnni: bool) -> Iterator[Row]:
    """First and second ingest of a folder, memory, and what cutting it into leaves takes alone."""
    first = _both(record, "ingest_seconds", median)
    again = _both(record, "again_seconds", median)
    wanted = INGEST_TIMES_VNNI if vnni else INGEST_TIMES_AVX2
    yield _compared(
        f"ingest of {corpus} ({record.facts.get('leaves', 0):,} leaves)",
        first,
        _seconds,
        target=f"≥ {wanted:g}×",
        holds=_holds(ratio(first[1], first[0]), at_least=wanted),
    )
    shares = [ratio(second, once) for second, once in zip(again, first, strict=True)]
    yield Row(
        f"{corpus} again, nothing changed",
        _share(again[0], shares[0]),
        _share(again[1], shares[1]),
        _times(ratio(again[1], again[0])),
        f"≤ {AGAIN_SHARE:.0%} of the first",
        _holds(shares[0], at_most=AGAIN_SHARE),
    )
    cpu = _both(record, "ingest_cpu_seconds", median)
    yield _compared(f"processor time of ingesting {corpus}, all cores together", cpu, _seconds)
    peaks = _both(record, "ingest_peak_mb", highest)
    yield _compared(f"peak memory of ingesting {corpus}", peaks, _megabytes)
    parse = _both(record, "parse_seconds", median)
    yield _compared(f"{corpus}: reading and cutting alone, each with its own parser", parse, _seconds)


def retrieval_rows(record: Record) -> Iterator[Row]:
    """A question's time and the peak memory, of everything that was run over these leaves.

    The targets are for the large corpus.
    """
    large = bool(record.facts.get("large", False))
    over = f"{record.facts.get('sentences', 0):,} sentences"
    yield _compared(f"retrieval, {over}, p50", _both(record, "query_ms", p50), _ms)
    high = _both(record, "query_ms", p95)
    verdicts = (
        _holds(high[0], at_most=QUERY_P95_MS),
        _holds(ratio(high[1], high[0]), at_least=QUERY_TIMES),
    )
    yield _compared(
        f"retrieval, {over}, p95",
        high,
        _ms,
        target=f"≤ {QUERY_P95_MS:g} ms and ≥ {QUERY_TIMES:g}×" if large else "",
        holds=all(verdicts) if large and None not in verdicts else None,
    )
    peaks = _both(record, "ingest_peak_mb", highest), _both(record, "query_peak_mb", highest)
    peak = tuple(highest([mb for mb in pair if mb == mb]) for pair in zip(*peaks, strict=True))
    yield _compared(
        f"peak memory, {over}",
        (peak[0], peak[1]),
        _megabytes,
        target=f"≤ {PEAK_MB:g} MB" if large else "",
        holds=_holds(peak[0], at_most=PEAK_MB) if large else None,
    )


def ask_row(record: Record) -> Row:
    """`athena ask` from its start to its end."""
    seconds = median(record.run("athena.ask_seconds"))
    return Row(
        "`athena ask` on the manuals, a new process",
        _seconds(seconds),
        target=f"≤ {ASK_SECONDS} s",
        holds=_holds(seconds, at_most=ASK_SECONDS),
    )


def scifact_rows(record: Record) -> Iterator[Row]:
    """Quality of the ranking: the higher the better, so that a ratio would mislead."""
    for metric, wanted in (("nDCG@10", NDCG_AT_10), ("Recall@100", RECALL_AT_100)):
        athena, baseline = _both(record, metric, median)
        yield Row(
            f"SciFact test, {metric}",
            _quality(athena),
            _quality(baseline),
            target=f"≥ {wanted:g}",
            holds=_holds(athena, at_least=wanted),
        )


def _both(record: Record, name: str, summary: Callable[[Sequence[float]], float]) -> tuple[float, float]:
    """Athena's number and the baseline's."""
    return summary(record.run(f"athena.{name}")), summary(record.run(f"baseline.{name}"))


def _compared(
    what: str,
    values: tuple[float, float],
    form: Callable[[float], str],
    *,
    target: str = "",
    holds: bool | None = None,
) -> Row:
    """A row of two numbers where lower is better, and how many times Athena's fits into the baseline's."""
    athena, baseline = values
    return Row(what, form(athena), form(baseline), _times(ratio(baseline, athena)), target, holds)


def _holds(value: float, *, at_least: float = -math.inf, at_most: float = math.inf) -> bool | None:
    return None if math.isnan(value) else at_least <= value <= at_most


def _share(seconds: float, share: float) -> str:
    """A second ingest's time, and how much of the first one's it is."""
    return " ".join(part for part in (_seconds(seconds), _format(share * 100, "({:.1f} %)")) if part)


def _format(value: float, form: str) -> str:
    return "" if math.isnan(value) else form.format(value)


def _seconds(value: float) -> str:
    return _format(value, "{:.2f} s" if value < 10 else "{:.0f} s")


def _ms(value: float) -> str:
    return _format(value, "{:.1f} ms" if value < 100 else "{:,.0f} ms")


def _megabytes(value: float) -> str:
    return _format(value, "{:,.0f} MB")


def _times(value: float) -> str:
    return _format(value, "{:.1f}×")


def _quality(value: float) -> str:
    return _format(value, "{:.4f}")
