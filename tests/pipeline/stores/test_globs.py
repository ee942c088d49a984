from __future__ import annotations

import pytest

from pipeline.errors import ConfigurationError
from pipeline.stores.globs import matches


@pytest.mark.parametrize(
    ("glob", "source", "expected"),
    [
        ("systems/*.md", "systems/ecs.md", True),
        ("systems/*.md", "systems/deep/ecs.md", False),
        ("systems/**", "systems/deep/ecs.md", True),
        ("systems/**/*.md", "systems/ecs.md", True),
        ("systems/**/*.md", "systems/a/b/ecs.md", True),
        ("**", "anything/at/all.md", True),
        ("**/ecs.md", "ecs.md", True),
        ("**/ecs.md", "systems/ecs.md", True),
        ("**/ecs.md", "systems/not-ecs.md", False),
        ("*.md", "systems/ecs.md", False),
        ("systems", "systems/deep/ecs.md", True),
        ("systems/", "systems/ecs.md", True),
        ("./systems", "systems/ecs.md", True),
        ("systems", "systems-old/ecs.md", False),
        ("ec?.md", "ecs.md", True),
        ("ec?.md", "ec/.md", False),
        ("[a-f]cs.md", "ecs.md", True),
        ("[!a-f]cs.md", "ecs.md", False),
        ("a[!b]c", "a/c", False),
        ("a.md", "aXmd", False),
        ("a+(b).md", "a+(b).md", True),
        ("[", "[", True),
        ("a\nb.md", "a\nb.md", True),
        ("**.md", "systems/deep/ecs.md", True),
        ("systems/**.md", "systems/ecs.md", True),
        ("systems/**.md", "power/ecs.md", False),
        ("systems**", "systems-old/ecs.md", True),
        ("**/deep/**/a.md", "x/deep/y/deep/a.md", True),
        ("a]b.md", "a]b.md", True),
        ("[]-]x.md", "]x.md", True),
        ("", "a.md", False),
    ],
)
def test_matches(glob: str, source: str, expected: bool) -> None:
    assert matches(source, glob) is expected


def test_no_glob_takes_long() -> None:
    """With a pattern that backtracks, this would not end in a lifetime."""
    name = "a" * 200
    assert not matches(f"{name}/{name}.md", "*a" * 60 + "b")
    assert not matches("/".join([name] * 60), "**/a*/" * 30 + "b")


def test_a_class_in_which_nothing_lies_is_refused() -> None:
    for glob in ("[z-a].md", "systems/[!9-0]*"):
        with pytest.raises(ConfigurationError, match=r"Write it as '(a-z|0-9)'"):
            matches("ecs.md", glob)
