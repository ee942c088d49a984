"""Uploads are kept file by file: one that breaks a rule is named, and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import UploadRefused
from pipeline.ingesting.uploads import Accepted, UploadedFile, accept, put_back, remove, uploaded

MOST = 1_000  # bytes of a file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "uploads"


def kept(folder: Path, *names: str, content: bytes = b"x") -> Accepted:
    """Upload files of these names."""
    return accept([UploadedFile(name, content) for name in names], folder, max_bytes=MOST)


def everything(folder: Path) -> list[str]:
    """Every file and folder beside and below the uploads."""
    return sorted(path.relative_to(folder.parent).as_posix() for path in folder.parent.rglob("*"))


def test_documents_are_kept_and_other_files_are_named(folder: Path) -> None:
    accepted = kept(folder, "a.md", "guide/b.markdown", "guide/pic.xyz", ".git/c.md")
    assert accepted.paths == ("a.md", "guide/b.markdown")
    named = zip(accepted.refused, ("guide/pic.xyz", ".git/c.md"), strict=True)
    assert all(name in refused for refused, name in named)
    assert everything(folder) == ["uploads", "uploads/a.md", "uploads/guide", "uploads/guide/b.markdown"]
    with pytest.raises(UploadRefused, match="no file"):
        kept(folder, "a.xyz")


UNUSABLE = "is not a usable file name"
REFUSED = [
    *(
        (name, b"x", UNUSABLE)
        for name in (
            *("../out.md", "a/../../out.md", "a\\..\\..\\out.md", "/etc/out.md", "C:/out.md", "\0.md"),
            *("\\\\host\\out.md", "a\x01b.md", "a.txt:b.md", "n" * 1_200 + ".md", "a\udc80.md"),
        )
    ),
    ("a.md", b"x" * 1_001, "larger than 0.001 MB"),
    (f"{'n' * 300}.md", b"x", "Cannot write"),
    ("GOOD.md", b"x", "twice"),
    ("good.md/b.md", b"x", "Cannot write"),
]


@pytest.mark.parametrize(("name", "content", "rule"), REFUSED)
def test_a_refused_file_is_named_with_the_rule_and_keeps_no_other_back(
    name: str, content: bytes, rule: str, folder: Path
) -> None:
    accepted = accept(
        [UploadedFile("good.md", b"# Good"), UploadedFile(name, content)], folder, max_bytes=MOST
    )
    assert (accepted.paths, uploaded(folder)) == (("good.md",), ["good.md"])
    assert (folder / "good.md").read_bytes() == b"# Good"
    assert re.search(rule, "\n".join(accepted.refused))
    "".join(accepted.refused).encode()  # can be sent to a browser
    assert everything(folder) == ["uploads", "uploads/good.md"]


def test_a_file_takes_the_place_of_one_of_its_name(folder: Path) -> None:
    kept(folder, "a.md", content=b"old")
    kept(folder, "A.md", content=b"new")
    assert (uploaded(folder), (folder / "a.md").read_bytes()) == (["a.md"], b"new")


@pytest.mark.parametrize("before", [(), ("a.md",)])
def test_what_fails_to_be_indexed_is_put_back(folder: Path, before: tuple[str, ...]) -> None:
    if before:
        kept(folder, *before, content=b"old")
    with pytest.raises(ValueError, match="no"), put_back("a.md", folder):
        kept(folder, "a.md", content=b"new")
        raise ValueError("no")
    assert uploaded(folder) == [*before]
    assert all((folder / name).read_bytes() == b"old" for name in before)


def test_a_file_is_removed_by_its_path(folder: Path) -> None:
    kept(folder, "d/e/a.md", "d/b.md")
    assert remove("d/e/a.md", folder)
    assert uploaded(folder) == ["d/b.md"]
    assert not remove("d/e/a.md", folder)
    assert not remove("../outside.md", folder)


NAMES = st.text(alphabet=st.sampled_from(list("aB./\\: é\n")), min_size=1, max_size=12)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_no_name_leads_out_of_the_folder(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "in" / "uploads"
    try:
        kept(folder, *(f"{name}.md" for name in names))
    except UploadRefused as error:
        assert str(error)
    assert all(path.is_relative_to(folder) or path == folder.parent for path in tmp_path.rglob("*"))
