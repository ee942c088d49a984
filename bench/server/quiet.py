"""Searches around which the host took next to nothing from this virtual machine.

A look beside the times of all searches, not instead of them: fewer of them, and a host that disturbs also
changes who searches at the same time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.embedded.machine import STOLEN_MOST, ProcessorTime

AROUND_S = 4.0
"""On each side of a search's end: what was taken before still waits, and samples are seconds apart."""


def undisturbed(report: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Mapping[str, Any]]:
    """Of `users`' report the answered questions whose search had at least 95 % of the time that it wanted."""
    samples = report["samples"]
    times = [sample["at_s"] for sample in samples]
    for item in report["asked"]:
        if item["error"]:
            continue
        first = max(0, bisect_right(times, item["searched_at_s"] - AROUND_S) - 1)
        last = min(len(times) - 1, bisect_left(times, item["searched_at_s"] + AROUND_S))
        if _time(samples[last]).stolen_since(_time(samples[first])) <= STOLEN_MOST:
            yield item


def _time(sample: Mapping[str, Any]) -> ProcessorTime:
    return ProcessorTime(sample["done"], sample["stolen"])
