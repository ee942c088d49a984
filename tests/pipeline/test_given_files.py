"""Files that somebody names: read whole, or refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.given_files import check_given, read_given


def test_a_text_is_read_as_python_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffé\r\nb\rc\n".encode())
    assert read_given(path) == path.read_text(encoding="utf-8")
    assert read_given(path, encoding="utf-8-sig") == "é\nb\nc\n"


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5_000_000_000)  # of which the disk has nothing


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and devices")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_pipe, "it is not a regular file"),
        (make_endless, "it is not a regular file"),
        (make_large, "it has more than 1,000,000 bytes"),
        (Path.mkdir, "it is a folder"),
    ],
)
def test_what_has_no_end_is_refused(make: object, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    make(path)  # type: ignore[operator]
    for read in (check_given, read_given):
        with pytest.raises(OSError, match=reason) as caught:
            read(path)
        assert caught.value.strerror == reason


def test_a_file_of_just_the_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abcd")
    assert read_given(path, most_bytes=4) == "abcd"
    with pytest.raises(OSError, match="more than 3 bytes"):
        read_given(path, most_bytes=3)
