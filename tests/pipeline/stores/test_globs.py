from __future__ import annotations

import pytest

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
    ],
)
def test_matches(glob: str, source: str, expected: bool) -> None:
    assert matches(source, glob) is expected
