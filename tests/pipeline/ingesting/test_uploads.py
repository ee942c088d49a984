"""Uploads are kept whole or refused whole, and a refused one leaves nothing behind."""

from __future__ import annotations

import io
import random
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import UploadRefused
from pipeline.ingesting.uploads import Accepted, UploadedFile, UploadLimits, accept, inspect, remove, uploaded
from readers.files import FileLimits

pytestmark = pytest.mark.slow

LIMITS = UploadLimits(4, 2_000, FileLimits(1_000, 1_000))
LINK = 0o120777 << 16


def zipped(
    *members: tuple[str, bytes], compress_type: int = zipfile.ZIP_DEFLATED, **attributes: int
) -> bytes:
    """A zip with these members; `attributes` are set on each."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = compress_type
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.writestr(info, content)
    return buffer.getvalue()


def pack(*members: tuple[str, bytes], **attributes: int) -> UploadedFile:
    return UploadedFile("pack.zip", zipped(*members, **attributes))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "uploads"


def everything(folder: Path) -> list[str]:
    """Every file and folder beside and below the uploads."""
    return sorted(path.relative_to(folder.parent).as_posix() for path in folder.parent.rglob("*"))


def test_keeps_files_and_zips_of_them(folder: Path) -> None:
    files = [
        UploadedFile("a.md", b"# A"),
        pack(("guide/b.markdown", b"# B"), ("guide/pic.png", b"x"), ("guide/", b"")),
    ]
    assert accept(files, folder, limits=LIMITS) == Accepted(("a.md", "guide/b.markdown"), ("guide/pic.png",))
    assert uploaded(folder) == ["a.md", "guide/b.markdown"]
    assert (folder / "guide/b.markdown").read_bytes() == b"# B"
    assert everything(folder) == ["uploads", "uploads/a.md", "uploads/guide", "uploads/guide/b.markdown"]


REFUSED: dict[str, tuple[Callable[[], list[UploadedFile]], str]] = {
    "up and out": (lambda: [pack(("../out.md", b"x"))], "leads out of its folder"),
    "up inside": (lambda: [pack(("a/../../out.md", b"x"))], "leads out of its folder"),
    "up with backslashes": (lambda: [pack(("a\\..\\..\\out.md", b"x"))], "leads out of its folder"),
    "up although no Markdown": (
        lambda: [pack(("a.md", b"x"), ("../out.sh", b"x"))],
        "leads out of its folder",
    ),
    "absolute": (lambda: [pack(("/etc/out.md", b"x"))], "leads out of its folder"),
    "drive": (lambda: [pack(("C:/out.md", b"x"))], "leads out of its folder"),
    "network share": (lambda: [pack(("\\\\host\\out.md", b"x"))], "leads out of its folder"),
    "link": (lambda: [pack(("link.md", b"/etc/passwd"), external_attr=LINK)], "a link, or no plain file"),
    "device": (lambda: [pack(("pipe.md", b""), external_attr=0o010644 << 16)], "no plain file"),
    "too many": (lambda: [pack(*((f"{n}.md", b"x") for n in range(5)))], "more than 4 files"),
    "too large a file": (lambda: [pack(("a.md", b"x" * 1_001))], "larger than 0.001 MB"),
    "too large together": (
        lambda: [pack(*((f"{n}.md", b"x" * 900) for n in range(3)))],
        "or 0.002 MB",
    ),
    "a bomb": (lambda: [pack(("a.md", b"\0" * 5_000_000))], "larger than"),
    "twice": (lambda: [pack(("a.md", b"x"), ("A.MD", b"y"))], "twice"),
    "file and zip": (lambda: [UploadedFile("a.md", b"x"), pack(("a.md", b"y"))], "twice"),
    "file and folder": (lambda: [pack(("a.md", b"x"), ("a.md/b.md", b"y"))], "or also a folder"),
    "no Markdown": (lambda: [pack(("a.txt", b"x"))], "no file that can be kept"),
    "nested only": (lambda: [pack(("inner.zip", zipped(("a.md", b"x"))))], "no file that can be kept"),
    "no zip": (lambda: [UploadedFile("pack.zip", b"PK nonsense")], "not a zip that can be read"),
    "long path": (lambda: [pack(("/".join(["d" * 190] * 6) + "/a.md", b"x"))], "too long"),
    "lone surrogate": (
        lambda: [UploadedFile("a\udc80.md", b"x")],
        r"'a\\\\udc80\.md' is not a usable file name",
    ),
    "lone surrogate in a zip's name": (
        lambda: [UploadedFile("\udc80.zip", b"x")],
        r"udc80\.zip' is not a zip",
    ),
    "no name": (lambda: [UploadedFile("\0.md", b"x")], "not a usable file name"),
    "long name": (lambda: [pack((f"{'n' * 250}.md", b"x"))], "too long"),
    "deep name": (lambda: [pack(("d/" * 40 + "a.md", b"x"))], "too deep"),
    "control characters": (lambda: [pack(("a\x01b.md", b"x"))], "not a usable file name"),
    "stream of NTFS": (lambda: [pack(("a.txt:b.md", b"x"))], "not a usable file name"),
}


WHOLE = ("too many", "too large together")
"""What refuses all of the upload."""


BESIDE_ANOTHER = ("twice", "file and zip", "file and folder", "up although no Markdown")
"""What leaves one of its own files."""


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_file_is_named_with_the_rule_and_keeps_no_other_back(case: str, folder: Path) -> None:
    make, rule = REFUSED[case]
    if case not in BESIDE_ANOTHER:
        with pytest.raises(UploadRefused, match=rule) as refused:
            accept(make(), folder, limits=LIMITS)
        assert refused.value.fix
        assert everything(folder) in ([], ["uploads"])
    if case not in WHOLE:
        accepted = accept([UploadedFile("good.md", b"# Good"), *make()], folder, limits=LIMITS)
        assert "good.md" in accepted.paths
        assert uploaded(folder) == list(accepted.paths)
        assert not (folder.parent / "out.md").exists()
        if rule != "no file that can be kept":
            assert re.search(rule, "\n".join(accepted.refused))
            "".join(accepted.refused).encode()  # can be sent to a browser


METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "LZMA": zipfile.ZIP_LZMA,
}
ROOMY = UploadLimits(400, 10_000_000, FileLimits(10**6, 10**6))


@pytest.mark.parametrize("method", METHODS)
def test_a_member_damaged_anywhere_is_named_and_the_others_are_kept(method: str, folder: Path) -> None:
    content = bytes(random.Random(1).randbytes(300))
    members = ("before.md", b"# Before"), ("bad.md", content), ("after.md", b"# After")
    whole = zipped(*members, compress_type=METHODS[method])
    first, last = whole.index(b"bad.md") + 6, whole.index(b"PK\x03\x04", whole.index(b"bad.md"))
    refusals = 0
    for position in range(first, last):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        accepted = inspect([UploadedFile("pack.zip", bytes(damaged))], limits=ROOMY)
        assert {"before.md", "after.md"} <= set(accepted.paths)
        assert all("'bad.md'" in message for message in accepted.refused)
        assert len(accepted.refused) == ("bad.md" not in accepted.paths)
        refusals += len(accepted.refused)
    assert refusals > 0.9 * (last - first)  # LZMA ends without some of its bytes


@pytest.mark.parametrize("method", METHODS)
def test_an_archive_damaged_anywhere_or_cut_off_is_read_or_refused(method: str, folder: Path) -> None:
    whole = zipped(("a.md", b"# A\n" * 30), ("b/c.md", b"# B"), compress_type=METHODS[method])
    for position in range(len(whole)):
        for damaged in (
            whole[:position],
            whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :],
        ):
            accepted = inspect([UploadedFile("pack.zip", bytes(damaged))], limits=ROOMY)
            assert accepted.paths or accepted.refused or accepted.ignored or position


def test_a_method_that_python_does_not_know_is_refused(folder: Path) -> None:
    content = bytearray(zipped(("a.md", b"x"), ("b.md", b"y"), compress_type=zipfile.ZIP_STORED))
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + offset] = 98  # PPMd
    accepted = accept([UploadedFile("pack.zip", bytes(content))], folder, limits=LIMITS)
    assert accepted.paths == ("b.md",)
    assert "'a.md' in the zip cannot be unpacked: " in accepted.refused[0]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_that_is_no_zip_is_left_out_and_one_named_so_is_refused(mode: str, folder: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        archive.addfile(tarfile.TarInfo("a.md"), io.BytesIO())
    files = [UploadedFile("a.tar.gz", buffer.getvalue()), UploadedFile("b.zip", buffer.getvalue()[:-20])]
    accepted = accept([*files, UploadedFile("good.md", b"x")], folder, limits=ROOMY)
    assert accepted.ignored == ("a.tar.gz",)
    assert accepted.paths == ("good.md",)
    assert accepted.refused[0].startswith("'b.zip' is not a zip that can be read: ")


def test_a_file_where_a_folder_was_uploaded_before_is_refused(folder: Path) -> None:
    accept([pack(("a.md/b.md", b"x"))], folder, limits=LIMITS)
    with pytest.raises(UploadRefused, match=r"Cannot write 'a\.md': Is a directory"):
        accept([UploadedFile("a.md", b"x")], folder, limits=LIMITS)
    assert uploaded(folder) == ["a.md/b.md"]


def test_a_folder_that_cannot_be_written_is_named(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("a file")
    with pytest.raises(UploadRefused, match=r"Cannot write 'a\.md': File exists"):
        accept([UploadedFile("a.md", b"x")], folder, limits=LIMITS)


def test_refuses_an_encrypted_member(folder: Path) -> None:
    content = bytearray(zipped(("a.md", b"secret")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    with pytest.raises(UploadRefused, match="encrypted"):
        accept([UploadedFile("pack.zip", bytes(content))], folder, limits=LIMITS)
    assert everything(folder) in ([], ["uploads"])


def test_counts_what_is_unpacked_not_what_is_claimed(folder: Path) -> None:
    """The sizes in both headers lie; the stream is cut off or refused, and nothing stays."""
    content = bytearray(zipped(("a.md", b"x" * 100_000)))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(signature) + offset
        content[at : at + 4] = (500).to_bytes(4, "little")
    with pytest.raises(UploadRefused):
        accept([UploadedFile("pack.zip", bytes(content))], folder, limits=LIMITS)
    assert everything(folder) in ([], ["uploads"])


def test_a_zip_of_endless_members_is_refused_before_its_list_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ingesting.uploads.MOST_MEMBERS", 3)
    files = [pack(*((f"{number}.png", b"") for number in range(4))), UploadedFile("a.md", b"# A")]
    accepted = accept(files, folder, limits=LIMITS)
    assert accepted.paths == ("a.md",)
    assert "'pack.zip' is not a zip that can be read: it has more than 3 files." in accepted.refused[0]


def test_nested_zips_and_hidden_files_are_left_out(folder: Path) -> None:
    files = [
        pack(
            ("a.md", b"x"), ("in.zip", zipped(("b.md", b"y"))), ("__MACOSX/._a.md", b"z"), (".git/c.md", b"z")
        )
    ]
    assert accept(files, folder, limits=LIMITS).ignored == ("in.zip",)
    assert uploaded(folder) == ["a.md"]


def test_a_file_that_is_there_is_replaced_only_when_told(folder: Path) -> None:
    accept([UploadedFile("a.md", b"old")], folder, limits=LIMITS)
    with pytest.raises(UploadRefused, match=r"Uploaded before: A\.md"):
        accept([UploadedFile("A.md", b"new"), UploadedFile("b.md", b"b")], folder, limits=LIMITS)
    assert (uploaded(folder), (folder / "a.md").read_bytes()) == (["a.md"], b"old")
    accept([UploadedFile("A.md", b"new")], folder, limits=LIMITS, replace=True)
    assert (uploaded(folder), (folder / "a.md").read_bytes()) == (["a.md"], b"new")


def test_inspecting_keeps_nothing(folder: Path) -> None:
    assert inspect([pack(("d/a.md", b"x"))], limits=LIMITS).paths == ("d/a.md",)
    assert everything(folder) in ([], ["uploads"])


def test_removing_takes_empty_folders_along(folder: Path) -> None:
    accept([pack(("d/e/a.md", b"x"), ("d/b.md", b"y"))], folder, limits=LIMITS)
    assert remove("d/e/a.md", folder)
    assert everything(folder) == ["uploads", "uploads/d", "uploads/d/b.md"]
    assert not remove("d/e/a.md", folder)
    assert not remove("../outside.md", folder)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(alphabet=st.sampled_from(list("aB./\\: é\n")), min_size=1, max_size=12),
            st.binary(max_size=9),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, members: list[tuple[str, bytes]]) -> None:
    folder = tmp_path / "in" / "uploads"
    before = set(tmp_path.rglob("*"))
    names = dict.fromkeys(f"{name}.md" for name, _ in members)
    try:
        accept([pack(*((name, b"x") for name in names))], folder, limits=LIMITS, replace=True)
    except UploadRefused as error:
        assert str(error)
    assert all(
        folder in path.parents or path in (folder, folder.parent)
        for path in set(tmp_path.rglob("*")) - before
    )
