from __future__ import annotations

import pytest

from pipeline.errors import ConfigurationError
from pipeline.stores.globs import as_scope, literal, matches, only_in, written


@pytest.mark.parametrize(
    ("glob", "source", "expected"),
    [
        ("systems/*.md", "systems/ecs.md", True),
        ("systems/*.md", "systems/deep/ecs.md", False),
        ("systems/**/*.md", "systems/ecs.md", True),
        ("systems/**/*.md", "systems/a/b/ecs.md", True),
        ("**", "anything/at/all.md", True),
        ("*.md", "systems/ecs.md", False),
        ("systems", "systems/deep/ecs.md", True),
        ("./systems", "systems/ecs.md", True),
        ("systems", "systems-old/ecs.md", False),
        ("a+(b).md", "a+(b).md", True),
        ("a\nb.md", "a\nb.md", True),
        ("**.md", "systems/deep/ecs.md", True),
        ("systems**", "systems-old/ecs.md", True),
        ("**/deep/**/a.md", "x/deep/y/deep/a.md", True),
        ("", "a.md", False),
        ("#a*", "#a.md", True),
        ("!a*", "!a.md", True),
        ("a\\*", "a*", True),
        ("\udcff*", "\udcff.md", True),
    ],
)
def test_matches(glob: str, source: str, expected: bool) -> None:
    assert matches(source, glob) is expected


def test_no_glob_takes_long() -> None:
    """With a pattern that backtracks without bounds, this would not end in a lifetime."""
    name = "a" * 200
    assert not matches(f"{name}/{name}.md", "*a" * 60 + "b")
    assert not matches("/".join([name] * 18), "**/a*/" * 3 + "b")


@pytest.mark.parametrize("glob", ["*" + "a*" * 5_001, "**/a*/" * 4 + "b"])
def test_a_glob_that_would_take_long_is_refused(glob: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        matches("systems/ecs.md", glob)
    assert glob[:40] in caught.value.problem


def test_any_of_several_globs_may_match() -> None:
    assert matches("systems/ecs.md", ("power", "systems/"))
    assert not matches("crew.md", ("power", "systems/"))
    assert not matches("crew.md", ())


@pytest.mark.parametrize("name", ["a[1].md", "what?.md", "*", "**/x.md", "[", "[!a]/b.md", "plain/", "]"])
def test_a_name_as_a_glob_means_itself_alone(name: str) -> None:
    assert matches(name.rstrip("/"), literal(name))
    assert written(literal(name)) == name
    assert not matches("a1.md", literal(name))
    assert not matches("whatx.md", literal(name))


def test_globs_one_by_one() -> None:
    given = (None, "", (), "a", ["a", "b", "", "a"])
    assert [as_scope(globs) for globs in given] == [(), (), (), ("a",), ("a", "b")]


def test_a_scope_in_words() -> None:
    assert only_in(()) == ""
    assert only_in("engines/") == "only in engines/"
    assert only_in([literal("a[1].md"), "b", "c"]) == "only in a[1].md, b and 1 more"
