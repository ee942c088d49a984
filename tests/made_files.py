"""Small files of other formats than Markdown, made by hand; and how large a folder of files is."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TypedLine = tuple[float, str]  # size in points, text; a size of 0 is a gap, a tab begins another column
COLUMN = 150  # points
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pdf(*pages: Sequence[TypedLine], title: str = "", trailer: str = "", image: bool = False) -> bytes:
    """A PDF of one font; each page's lines stand below one another."""
    images = "/XObject << /I 4 0 R >>" if image else ""
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    pixel = "/Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        _stream("x", f"/Type /XObject /Subtype /Image {pixel}"),
        f"<< /Title ({title}) >>",
    ]
    for number, lines in enumerate(pages):
        content = 7 + 2 * number
        bodies.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            f"/Resources << /Font << /F 3 0 R >> {images} >> /Contents {content} 0 R >>"
        )
        bodies.append(_stream(_drawn(lines) + (" q 50 0 0 50 500 20 cm /I Do Q" if image else "")))
    return _file(bodies, trailer)


def _drawn(lines: Iterable[TypedLine]) -> str:
    drawn, y = [], 780.0
    for size, text in lines:
        y -= 1.25 * (size or 14)
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        for column, part in enumerate(escaped.split("\t")):
            if size and part:
                drawn.append(f"BT /F {size} Tf {50 + COLUMN * column} {y:.1f} Td ({part}) Tj ET")
    return "\n".join(drawn)


def _stream(content: str, entries: str = "") -> str:
    return f"<< {entries} /Length {len(content.encode('cp1252'))} >>\nstream\n{content}\nendstream"


def _file(bodies: Sequence[str], trailer: str) -> bytes:
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(bodies) + 1
    return (
        out
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size {size} /Root 1 0 R /Info 5 0 R {trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
        ).encode()
    )


def docx(*paragraphs: tuple[str, str] | str, parts: dict[str, str | bytes] | None = None) -> bytes:
    """A Word document; a paragraph is its text, or its style and its text, or XML where it begins so."""
    body = "".join(map(_paragraph, paragraphs))
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in (1, 2, 3)
    )
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": (
            f'<Types xmlns="{TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
            "</Types>"
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>'
        ),
        "word/_rels/document.xml.rels": (
            f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" Type="{OFFICE}/styles" '
            'Target="styles.xml"/></Relationships>'
        ),
        "word/styles.xml": f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>',
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | (parts or {})).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _paragraph(paragraph: tuple[str, str] | str) -> str:
    if isinstance(paragraph, str) and paragraph.startswith("<"):
        return paragraph
    style, text = paragraph if isinstance(paragraph, tuple) else ("", paragraph)
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def notebook(*cells: tuple[str, str], outputs: int = 0, language: str = "python") -> str:
    """A Jupyter notebook of (kind, text); each code cell has so many outputs."""
    made: list[dict[str, Any]] = [
        {"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}}
        | ({"outputs": [{"output_type": "stream", "text": "SECRET"}] * outputs} if kind == "code" else {})
        for kind, text in cells
    ]
    return json.dumps({"cells": made, "nbformat": 4, "metadata": {"language_info": {"name": language}}})
