"""Other formats as Markdown: by a process with limits, which a hostile file cannot leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from readers.converting import FileConverter
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.formats import format_of
from readers.source import ReaderError
from tests.made_files import docx, notebook, paragraph, pdf

pytest.importorskip("markitdown", reason="the extra [files] is not installed")
pytestmark = pytest.mark.slow  # processes are started

GOOD = pdf("The pump hums.", "It is blue.")
PAGE = (
    b"<title>Fans</title><nav>Menu</nav><main><h1>Fans<a class='headerlink' href='#f'>#</a></h1>"
    b"<p>They <b>hum</b>.</p><script>x()</script></main>"
)
NOTEBOOK = notebook(("markdown", "Fans hum."), ("code", "x = 1"))


@pytest.fixture(scope="module")
def converter() -> Iterator[FileConverter]:
    with closing(FileConverter(100_000, seconds=8)) as made:
        yield made


def converted(converter: FileConverter, name: str, data: bytes) -> str:
    kind = format_of(name)
    assert kind is not None
    return converter.text(data, kind, source=name)


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.pdf", GOOD, "The pump hums.\n\n\n\nIt is blue."),
        ("a.docx", docx(paragraph("Fans", style="h") + paragraph("They hum.")), "# Fans\n\nThey hum."),
        ("a.html", PAGE, '---\ntitle: "Fans"\n---\n\n# Fans\n\nThey **hum**.'),
        ("a.ipynb", NOTEBOOK, "Fans hum.\n\n```python\nx = 1\n```"),
    ],
)  # fmt: skip
def test_a_format_is_markdown(converter: FileConverter, name: str, data: bytes, text: str) -> None:
    assert converted(converter, name, data) == text


ENTITY = '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
HOSTILE = {
    "elements nested a million deep": ("a.html", b"<div>" * 1_000_000),
    "a zip bomb": ("a.docx", docx(paragraph("x"), parts={"word/media/a.bin": bytes(210_000_000)})),
    "an external entity": ("a.docx", docx(paragraph("&e;"), before=ENTITY)),
    "random bytes": ("a.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 200),
    "pages in a circle": ("a.pdf", GOOD.replace(b"/Kids [4 0 R", b"/Kids [2 0 R")),
    "no notebook": ("a.ipynb", b"[" * 100_000),
    "too much text": ("a.html", b"<p>" + b"words " * 50_000),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_named_or_harmless_and_the_next_one_is_read(
    converter: FileConverter, case: str
) -> None:
    name, data = HOSTILE[case]
    try:
        text = converted(converter, name, data)
    except ReaderError as error:
        assert (error.source, bool(error.reason), bool(error.fix)) == (name, True, True)
    else:
        assert "root:" not in text and len(text) <= 100_000
    assert "The pump hums." in converted(converter, "good.pdf", GOOD)


def test_the_process_has_no_keys_and_a_file_is_converted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "sk-secret")
    (tmp_path / "a.pdf").write_bytes(GOOD)
    with closing(MarkdownCorpus(lambda: SentenceCutter(len), max_bytes=10_000)) as corpus:
        first = corpus.read(tmp_path / "a.pdf", source="a.pdf")
        assert first is not None and corpus._converter._process is not None
        environment = Path(f"/proc/{corpus._converter._process.pid}/environ")
        assert not environment.exists() or b"sk-secret" not in environment.read_bytes()
        assert corpus.read(tmp_path / "a.pdf", source="a.pdf", known=first.hash) is None
