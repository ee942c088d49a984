"""Files made to harm what reads them: each is named with a reason, in time, and the next file is read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing

import pytest

from readers.converting.converter import FileConverter
from readers.errors import ReaderError
from readers.files import FileLimits
from readers.formats import format_of
from tests.made_files import WORD, docx, pdf

pytest.importorskip("pypdfium2", reason="the extra [files] is not installed")
pytestmark = pytest.mark.slow

SECONDS = 6.0
GOOD = pdf([(11, "The pump hums.")])
SECRET = "root:"  # of /etc/passwd


@pytest.fixture(scope="module")
def converter() -> Iterator[FileConverter]:
    with closing(FileConverter(FileLimits(1_000_000, 50_000_000), seconds=SECONDS)) as made:
        yield made


def word(body: str, before: str = "") -> bytes:
    document = f'{before}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return docx("x", parts={"word/document.xml": document})


def entities(count: int) -> str:
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, count))
    return f'<!DOCTYPE d [<!ENTITY e0 "ha">{lines}]>'


HOSTILE: dict[str, tuple[str, bytes]] = {
    "elements nested a million deep": ("a.html", b"<div>" * 1_000_000),
    "a million open paragraphs": ("a.html", b"<p>x" * 1_000_000),
    "tables in tables": ("a.html", b"<table><tr><td>" * 2_000 + b"x"),
    "nothing but entities": ("a.html", b"<p>" + b"&lt;" * 1_000_000),
    "a PDF in pieces": ("a.pdf", GOOD[:250]),
    "random bytes as a PDF": ("a.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 2_000),
    "pages in a circle": ("a.pdf", GOOD.replace(b"/Kids [6 0 R]", b"/Kids [2 0 R]")),
    "a billion pages": ("a.pdf", GOOD.replace(b"/Count 1", b"/Count 999999999")),
    "a zip bomb": ("a.docx", docx("x", parts={"word/media/a.bin": bytes(210_000_000)})),
    "a billion laughs": ("a.docx", word("<w:p><w:r><w:t>&e9;</w:t></w:r></w:p>", entities(10))),
    "an external entity": (
        "a.docx",
        word(
            "<w:p><w:r><w:t>&e; words</w:t></w:r></w:p>",
            '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        ),
    ),
    "paragraphs in paragraphs": ("a.docx", word("<w:p>" * 50_000 + "</w:p>" * 50_000)),
    "lists in lists": ("a.rst", "\n".join(f"{'  ' * n}* a\n" for n in range(400)).encode()),
    "a substitution of itself": ("a.rst", b"|a|" * 50_000 + b"\n\n.. |a| replace:: |a| |a|\n"),
    "files of the machine": (
        "a.rst",
        b"Words.\n\n.. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\n"
        b".. csv-table::\n   :file: /etc/passwd\n\n.. literalinclude:: /etc/passwd\n",
    ),
    "much markup": ("a.rst", b"a *b* `c`_ \n" * 300_000),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_ends_in_time_and_the_next_one_is_read(converter: FileConverter, case: str) -> None:
    name, data = HOSTILE[case]
    kind, good = format_of(name), format_of("good.pdf")
    assert kind is not None and good is not None
    try:
        text = converter.text(data, kind, source=name)
    except ReaderError as error:
        assert error.source == name
        assert error.reason and error.fix
    else:
        assert SECRET not in text
        assert len(text) < 1_100_000
    assert "The pump hums." in converter.text(GOOD, good, source="good.pdf")


def test_a_page_that_unfolds_to_more_than_the_memory_allowed_is_refused(converter: FileConverter) -> None:
    """A stream of 875 kB that is 900 MB: PDFium would take twice as much."""
    packer, blanks = zlib.compressobj(9), b" " * 1_000_000
    packed = b"".join([*(packer.compress(blanks) for _ in range(900)), packer.flush()])
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(packed), packed)
    start, end = GOOD.rindex(b"<<", 0, GOOD.index(b"BT ")), GOOD.rindex(b"endstream") + len(b"endstream")
    kind = format_of("a.pdf")
    assert kind is not None
    with pytest.raises(ReaderError, match="memory"):
        converter.text(GOOD[:start] + stream + GOOD[end:], kind, source="a.pdf")
