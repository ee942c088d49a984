"""Uploads are kept file by file: one that breaks a rule is named, and leaves nothing behind."""

from __future__ import annotations

import io
import random
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import UploadRefused
from pipeline.ingesting.uploads import Accepted, UploadedFile, UploadLimits, accept, inspect, remove, uploaded

pytestmark = pytest.mark.slow

LIMITS = UploadLimits(4, 2_000, 1_000)
ROOMY = UploadLimits(400, 10_000_000, 10**6)
LINK, PIPE = 0o120777 << 16, 0o010644 << 16


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0) -> bytes:
    """A zip with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = method, mode
            archive.writestr(info, content)
    return buffer.getvalue()


def pack(*members: tuple[str, bytes], mode: int = 0) -> UploadedFile:
    return UploadedFile("pack.zip", zipped(*members, mode=mode))


def patched(content: bytes, local: int, listed: int, value: bytes) -> UploadedFile:
    """A zip whose first member has other bytes in both of its headers, at these offsets."""
    data = bytearray(content)
    for signature, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", listed)):
        at = data.index(signature) + offset
        data[at : at + len(value)] = value
    return UploadedFile("pack.zip", bytes(data))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "uploads"


def everything(folder: Path) -> list[str]:
    """Every file and folder beside and below the uploads."""
    return sorted(path.relative_to(folder.parent).as_posix() for path in folder.parent.rglob("*"))


def test_keeps_files_and_zips_of_them(folder: Path) -> None:
    members = ("guide/b.markdown", b"# B"), ("guide/pic.png", b"x"), ("guide/", b"")
    hidden = ("__MACOSX/._a.md", b"z"), (".git/c.md", b"z")
    nested = ("in.zip", zipped(("b.md", b"y")))
    files = [UploadedFile("a.md", b"# A"), pack(*members, *hidden, nested)]
    expected = Accepted(("a.md", "guide/b.markdown"), ("guide/pic.png", "in.zip"))
    assert inspect(files, limits=LIMITS) == expected
    assert everything(folder) == []
    assert accept(files, folder, limits=LIMITS) == expected
    assert (folder / "guide/b.markdown").read_bytes() == b"# B"
    assert everything(folder) == ["uploads", "uploads/a.md", "uploads/guide", "uploads/guide/b.markdown"]


X = ("a.md", b"x")
UNUSABLE = "is not a usable file name"
REFUSED = [
    *(
        (pack((name, b"x")), UNUSABLE)
        for name in (
            *("../out.md", "a/../../out.md", "a\\..\\..\\out.md", "/etc/out.md", "C:/out.md"),
            *("\\\\host\\out.md", "a\x01b.md", "a.txt:b.md", "n" * 1_200 + ".md"),
        )
    ),
    (pack(("link.md", b"/etc/passwd"), mode=LINK), "a link, or no plain file"),
    (pack(("pipe.md", b""), mode=PIPE), "a link, or no plain file"),
    (patched(zipped(X), 6, 8, b"\1"), "encrypted"),
    (patched(zipped(X, method=zipfile.ZIP_STORED), 8, 10, b"\x62"), "cannot be unpacked"),  # PPMd
    (patched(zipped(("a.md", b"x" * 100_000)), 22, 24, (500).to_bytes(4, "little")), "'a.md'"),  # its size
    (pack(("a.md", b"x" * 1_001)), "larger than 0.001 MB"),
    (pack(("a.md", b"\0" * 5_000_000)), "larger than"),
    (UploadedFile("pack.zip", b"PK nonsense"), "not a zip that can be read"),
    (UploadedFile("\udc80.zip", b"x"), r"udc80\.zip' is not a zip"),
    (UploadedFile("a\udc80.md", b"x"), r"'a\\udc80\.md' is not a usable file name"),
    (UploadedFile("\0.md", b"x"), UNUSABLE),
    (pack((f"{'n' * 300}.md", b"x")), "Cannot write"),
]


@pytest.mark.parametrize(("file", "rule"), REFUSED)
def test_a_refused_file_is_named_with_the_rule_and_keeps_no_other_back(
    file: UploadedFile, rule: str, folder: Path
) -> None:
    with pytest.raises(UploadRefused, match=rule) as refused:
        accept([file], folder, limits=LIMITS)
    assert refused.value.fix
    accepted = accept([UploadedFile("good.md", b"# Good"), file], folder, limits=LIMITS)
    assert (accepted.paths, uploaded(folder)) == (("good.md",), ["good.md"])
    assert re.search(rule, "\n".join(accepted.refused))
    "".join(accepted.refused).encode()  # can be sent to a browser
    assert everything(folder) == ["uploads", "uploads/good.md"]


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ([pack(*((f"{n}.md", b"x") for n in range(5)))], "more than 4 files"),
        ([pack(*((f"{n}.md", b"x" * 900) for n in range(3)))], "or 0.002 MB"),
        ([pack(("a.txt", b"x"), ("inner.zip", zipped(X)))], "no file that can be kept"),
    ],
)
def test_an_upload_over_a_limit_or_without_a_document_is_refused_whole(
    files: list[UploadedFile], rule: str, folder: Path
) -> None:
    with pytest.raises(UploadRefused, match=rule):
        accept(files, folder, limits=LIMITS)
    assert everything(folder) == []


@pytest.mark.parametrize("second", ["A.MD", "a.md", "a.md/b.md"])
def test_of_two_files_of_one_name_the_first_is_kept(second: str, folder: Path) -> None:
    accepted = accept([pack(X), pack((second, b"y"))], folder, limits=LIMITS)
    assert (accepted.paths, (folder / "a.md").read_bytes()) == (("a.md",), b"x")
    assert len(accepted.refused) == 1


METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("method", METHODS)
def test_a_member_damaged_anywhere_is_named_and_the_others_are_kept(method: int) -> None:
    members = (
        ("before.md", b"# Before"),
        ("bad.md", random.Random(1).randbytes(300)),
        ("after.md", b"# After"),
    )
    whole = zipped(*members, method=method)
    first, last = whole.index(b"bad.md") + 6, whole.index(b"PK\x03\x04", whole.index(b"bad.md"))
    refusals = 0
    for position in range(first, last):
        damaged = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        accepted = inspect([UploadedFile("pack.zip", damaged)], limits=ROOMY)
        assert {"before.md", "after.md"} <= set(accepted.paths)
        assert all("'bad.md'" in message for message in accepted.refused)
        assert len(accepted.refused) == ("bad.md" not in accepted.paths)
        refusals += len(accepted.refused)
    assert refusals > 0.9 * (last - first)  # LZMA ends without some of its bytes


def test_what_cannot_be_written_is_named(folder: Path) -> None:
    accept([pack(("a.md/b.md", b"x"))], folder, limits=LIMITS)
    with pytest.raises(UploadRefused, match=r"Cannot write 'a\.md': Is a directory"):
        accept([UploadedFile("a.md", b"x")], folder, limits=LIMITS)
    assert everything(folder) == ["uploads", "uploads/a.md", "uploads/a.md/b.md"]


def test_a_zip_of_endless_members_is_refused_before_its_list_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ingesting.uploads.MOST_MEMBERS", 3)
    files = [pack(*((f"{number}.png", b"") for number in range(4))), UploadedFile("a.md", b"# A")]
    accepted = accept(files, folder, limits=LIMITS)
    assert accepted.paths == ("a.md",)
    assert "it has more than 3 files" in accepted.refused[0]


def test_a_file_takes_the_place_of_one_of_its_name(folder: Path) -> None:
    accept([UploadedFile("a.md", b"old")], folder, limits=LIMITS)
    accept([UploadedFile("A.md", b"new")], folder, limits=LIMITS)
    assert (uploaded(folder), (folder / "a.md").read_bytes()) == (["a.md"], b"new")


def test_removing_takes_empty_folders_along(folder: Path) -> None:
    accept([pack(("d/e/a.md", b"x"), ("d/b.md", b"y"))], folder, limits=LIMITS)
    assert remove("d/e/a.md", folder)
    assert everything(folder) == ["uploads", "uploads/d", "uploads/d/b.md"]
    assert not remove("d/e/a.md", folder)
    assert not remove("../outside.md", folder)


NAMES = st.text(alphabet=st.sampled_from(list("aB./\\: é\n")), min_size=1, max_size=12)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_no_name_leads_out_of_the_folder(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "in" / "uploads"
    try:
        accept([pack(*((f"{name}.md", b"x") for name in names))], folder, limits=LIMITS)
    except UploadRefused as error:
        assert str(error)
    assert all(path.is_relative_to(folder) or path == folder.parent for path in tmp_path.rglob("*"))
