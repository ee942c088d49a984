"""The process that converts: it answers, is ended in time, and after a fault the next file is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from readers.converting.converter import ConverterProcess, FileConverter
from readers.errors import ReaderError
from readers.files import FileLimits
from readers.formats import format_of
from tests.made_files import docx, pdf

pytest.importorskip("pypdfium2", reason="the extra [files] is not installed")
pytestmark = pytest.mark.slow  # processes are started

GOOD = pdf([(11, "The pump hums.")])


@pytest.fixture
def process() -> Iterator[ConverterProcess]:
    with closing(ConverterProcess(seconds=30)) as made:
        yield made


def converted(process: ConverterProcess, data: bytes, name: str = "a.pdf", *, most: int = 10_000) -> str:
    kind = format_of(name)
    assert kind is not None
    return process.convert(data, format_name=kind.name, source=name, most=most).text


def test_one_process_converts_file_after_file(process: ConverterProcess) -> None:
    assert "The pump hums." in converted(process, GOOD)
    with pytest.raises(ReaderError, match=r"'bad\.pdf': not a PDF"):
        converted(process, b"x", "bad.pdf")
    assert "Fans" in converted(process, docx(("Heading1", "Fans")), "a.docx")


def test_a_file_that_takes_too_long_is_named_and_the_next_one_is_read() -> None:
    with closing(ConverterProcess(seconds=0.05)) as hurried:  # less than Python needs to start
        with pytest.raises(ReaderError, match=r"'slow\.pdf': converting it takes longer than 0\.05 seconds"):
            converted(hurried, GOOD, "slow.pdf")
        hurried._seconds = 30
        assert "The pump hums." in converted(hurried, GOOD)


def test_a_fault_ends_the_process_and_the_next_file_gets_another(process: ConverterProcess) -> None:
    nested = "<w:p>" * 50_000 + "</w:p>" * 50_000
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'<w:document xmlns:w="{namespace}"><w:body>{nested}</w:body></w:document>'
    with pytest.raises(ReaderError, match=r"'deep\.docx': it is nested too deep"):
        converted(process, docx("x", parts={"word/document.xml": body}), "deep.docx")
    assert "The pump hums." in converted(process, GOOD)


def test_more_text_than_is_allowed_is_refused(process: ConverterProcess) -> None:
    with pytest.raises(ReaderError, match="over the limit of 10"):
        converted(process, GOOD, most=10)


def test_keys_of_the_environment_stay_with_us(
    process: ConverterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "sk-secret")
    converted(process, GOOD)
    assert process._process is not None
    environment = Path(f"/proc/{process._process.pid}/environ")
    if not environment.exists():
        pytest.skip("the environment of a process can be read on Linux only")
    assert b"sk-secret" not in environment.read_bytes()


def test_a_file_is_not_converted_again_while_its_bytes_are_the_same(tmp_path: Path) -> None:
    kind = format_of("a.pdf")
    assert kind is not None
    (tmp_path / "a.pdf").write_bytes(GOOD)
    with closing(FileConverter(FileLimits(10_000, 10_000), seconds=30)) as converter:
        first = converter.read(tmp_path / "a.pdf", kind, source="a.pdf")
        assert first is not None
        assert converter.read(tmp_path / "a.pdf", kind, source="a.pdf", known=first.hash) is None
        (tmp_path / "a.pdf").write_bytes(pdf([(11, "Another text.")]))
        assert converter.read(tmp_path / "a.pdf", kind, source="a.pdf", known=first.hash) is not None
        (tmp_path / "a.pdf").write_bytes(bytes(10_001))
        with pytest.raises(ReaderError, match="over the limit"):
            converter.read(tmp_path / "a.pdf", kind, source="a.pdf")
