"""HTML as Markdown, by Beautiful Soup and markdownify: the main part of a page, without what surrounds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString
from markdownify import ATX, MarkdownConverter

from readers.converting.converted import Converted, escaped, losses
from readers.errors import ReaderError

MOST_NESTED = 300
"""Elements within elements: markdownify calls itself for each."""

NOT_READ = ("script", "style", "template", "noscript", "nav", "svg", "button", "dialog", "head")
AROUND = ("header", "footer", "aside")
"""Left out where they are no part of the main text."""
EMBEDDED = ("iframe", "frame", "video", "audio", "canvas", "object", "embed", "applet")


def convert_html(data: bytes | str, *, source: str, address: str = "") -> Converted:
    """A page; links are made absolute where its `address` is known. Images leave their descriptions.

    Raises:
        ReaderError: its elements are nested too deep.
    """
    soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text() if soup.title else ""
    main = _main(soup)
    _check_depth(main, source)
    images, embedded = _images(main), main.find_all(EMBEDDED)
    lost = losses((len(images), "image"), (len(embedded), "embedded frame or film"))
    for element in embedded:
        element.decompose()
    for link in main.find_all("a", href=True):
        _mend_link(link, address)
    return Converted(_PageConverter(**_OPTIONS).convert_soup(main), title=title, left_out=lost)


def _main(soup: BeautifulSoup) -> Tag:
    """The part of a page that is its text, without what is for programs and for moving about."""
    for element in soup.find_all(NOT_READ):
        element.decompose()
    for text in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        text.extract()  # comments, declarations, CDATA
    for literal in soup.find_all("span", class_="literal"):  # as docutils writes code
        literal.name = "code"
    articles = soup.find_all("article")
    main = soup.find("main") or soup.find(role="main") or (articles[0] if len(articles) == 1 else None)
    if isinstance(main, Tag):
        return main
    whole = soup.body or soup
    for element in whole.find_all(AROUND, recursive=False):
        if not element.find("h1"):
            element.decompose()
    return whole


def _check_depth(main: Tag, source: str) -> None:
    depths = {id(main): 0}
    for element in main.descendants:
        if isinstance(element, Tag):
            depths[id(element)] = depth = depths[id(element.parent)] + 1
            if depth > MOST_NESTED:
                reason = f"its elements are nested deeper than {MOST_NESTED}"
                raise ReaderError(source, reason=reason, fix="Save it as a simpler page.")


def _images(main: Tag) -> list[Tag]:
    """The images, which lose their addresses: nothing is loaded by whoever reads the text."""
    images = list(main.find_all("img"))
    for image in images:
        description = " ".join(str(image.get("alt") or "").split())
        image.attrs = {"alt": description, "src": ""}
        if not description:
            image.extract()
    return images


def _mend_link(link: Tag, address: str) -> None:
    """A link that leads somewhere from here; others, such as a heading's to itself, are their text."""
    target = str(link["href"]).strip()
    if "headerlink" in (link.get("class") or ()) or not link.get_text(strip=True):
        link.decompose() if "headerlink" in (link.get("class") or ()) else link.unwrap()
        return
    if address and not target.startswith("#"):
        with suppress(ValueError):  # it is none, and stays as it is written
            target = urljoin(address, target)
    if target.startswith(("http://", "https://", "mailto:")):
        link.attrs = {"href": target}
    else:
        link.unwrap()


def _language(element: Tag) -> str:
    """The language of a code block, as its class or that of the code in it says."""
    for candidate in (element, *element.find_all("code", limit=1)):
        for name in _classes(candidate):
            if name.startswith(("language-", "lang-")):
                return name.partition("-")[2]
    return ""


def _classes(element: Tag) -> Iterator[str]:
    value = element.get("class") or ()
    yield from value.split() if isinstance(value, str) else value


_OPTIONS: dict[str, Any] = {
    "heading_style": ATX,
    "bullets": "-",
    "autolinks": False,
    "table_infer_header": True,
    "code_language_callback": _language,
}


class _PageConverter(MarkdownConverter):
    """markdownify, but ids and file names keep their underscores, and no text becomes a tag."""

    def escape(self, text: str, parent_tags: Any) -> str:  # noqa: ARG002 - markdownify's own signature
        return escaped(text)
