"""Patterns of paths, compiled many at once: all that are patterns count, in their order."""

from __future__ import annotations

import pytest

from pipeline.patterns import NotAPattern, compile_pattern, compile_patterns


def test_the_last_pattern_that_is_about_a_path_decides() -> None:
    patterns, wrong = compile_patterns(["*.md", "", "# no pattern", "!b.md", "c/"])
    verdicts = [patterns.verdict(path) for path in ("a.md", "b.md", "c/", "c/x", "d")]
    assert (verdicts, wrong) == ([True, False, True, True, None], [])


def test_lines_that_are_no_patterns_are_left_out_by_their_places() -> None:
    patterns, wrong = compile_patterns(["!", "*.md", "[z-a]", "!b.md", "[a"])
    assert wrong == [0, 2, 4]
    assert [patterns.verdict(path) for path in ("a.md", "b.md", "z")] == [True, False, None]
    assert len(patterns.specs) == 1  # what is left is compiled together: so git decides between them


@pytest.mark.parametrize("line", ["[z-a]", "!", "a[", "\\", "*a" * 10_000])
def test_what_is_no_pattern_says_so(line: str) -> None:
    with pytest.raises(NotAPattern) as caught:
        compile_pattern(line)
    assert str(caught.value)


@pytest.mark.parametrize(("stars", "lines"), [(10, 10), (300, 1), (300, 10), (20, 400)])
def test_no_pattern_is_forgotten_for_want_of_memory(stars: int, lines: int) -> None:
    """A set of RE2's that is too large for its memory finds nothing, without a word."""
    patterns, wrong = compile_patterns(["*a" * stars + f"{number}.md" for number in range(lines)])
    assert not wrong
    assert patterns.verdict("a" * stars + f"{lines - 1}.md")
    assert patterns.verdict("a" * stars) is None
