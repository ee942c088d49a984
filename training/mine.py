"""Questions that people wrote over documentation: headings that ask or complain, and lines of FAQs.

The rules prefer to miss a question: what a random hundred showed to be wrong has a rule against it.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

from readers.errors import ReaderError
from readers.sections import read_sections
from training.data import QUESTIONS, SECTIONS, Question, Section, Source, plain, write_rows

LARGEST_FILE = 400_000  # bytes
LONGEST_TEXT = 1_200  # characters of a section that are kept
FEWEST_WORDS = 12  # of a section
FEWEST_IN_ANSWER = 15
POINTING_WORDS = 45  # an answer that begins with "See …" says something itself if it is longer
MOST_OF_ONE = 350  # questions of a repository
MOST_OF_INTERVIEWS = 50

WORD = re.compile(r"[A-Za-z0-9][\w'’-]*")
ASKS = re.compile(
    r"(how (do|does|can|could|should|to|much|many|long|often|is|are|did|will)|why|"
    r"what('s| (is|are|does|do|happens|if|should|can))|when (should|do|does|to|is|are|can|will)|"
    r"where (is|are|do|does|can|should|to)|who (can|is|are|should|owns)|can (i|you|we)|"
    r"(do|does) (i|you|we|it)|is (it|there)|are there|should i)\b",
    re.IGNORECASE,
)
COMPLAINS = re.compile(
    r"\b((does|do|is|are|was|will|can|could)(n['’]t| not)|can(not|['’]t)|won['’]t|unable to|"
    r"fail(s|ed|ing)|crash(es|ed)|hangs|stuck|times? out|timed out|refused|denied|"
    r"not (found|working|showing|loading|starting|responding)|too (slow|many|large)|"
    r"out of (memory|disk|space)|no such|missing|broken|unexpected\w*)\b|^(i|my) ",
    re.IGNORECASE,
)
TITLES = re.compile(
    r"handling|^(debug|fix|avoid|handl|prevent|detect|test|report|log|catch|known|common)\w*\b", re.IGNORECASE
)
NEEDS_CONTEXT = re.compile(
    r"^(what|how|why) (do |does |is |are |about )?(this|these|that|those|it|they|we)\b|"
    r"\b(here|above|below|previous(ly)?)\b|^what (the|a|an|we|you|i) |^(what['’]s|what is) (new|next)|"
    r"^(what|which) (\w+ )?(place|doc|page|section|chapter|exam|course)\b|"
    r"\bthis (article|chapter|guide|tutorial|lesson|section|page)\b|\b(n['’]t|not) (include|cover)|"
    r"^how to (contribute|get help|use this)",
    re.IGNORECASE,
)
POINTS_ELSEWHERE = re.compile(
    r"(please )?(see|refer to|check out|read|visit|go to|consult|take a look at|more information)\b",
    re.IGNORECASE,
)
INTERVIEWS = re.compile(r"interview|test-your|exercises", re.IGNORECASE)
LEFT_OUT = re.compile(
    r"(^|/)(node_modules|vendor|third_party|i18n|locales?|translations?|versioned_docs|blog|_posts|\.[^/]+|"
    r"(zh|ja|ko|fr|de|es|pt|ru|it|pl|tr|uk|vi|ar|cn)(-\w+)?)/|"
    r"(^|/)(change-?log|licen[cs]e|code[-_]of[-_]conduct)",
    re.IGNORECASE,
)
LINE = re.compile(
    r"^(?:\s{0,3}(?:[-*]\s+)?(?:\*\*|__)(?:Q\d*[.:]\s*)?(?P<bold>[^*_\n]{10,200}\?)\s*(?:\*\*|__)|"
    r"Q\d*[.:]\s+(?P<plain>[^\n]{10,200}\?))\s*$",
    re.MULTILINE,
)
"""A question on a line of its own: bold, or after "Q:"."""
ANSWER_MARK = re.compile(r"^\s*(\*\*|__)?A\d*[.:](\*\*|__)?\s*")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*(?:\s[^)]*)?\)")
TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^>\n]*>", re.DOTALL)
NUMBERING = re.compile(r"^(Q\d*[.:]|\d+(\.\d+)*[.):]?)\s+")


def mine(sources: Iterable[Source], clones: Path, *, into: Path) -> Counter[str]:
    """Write the sections and questions of all clones that are there; returns what was found, counted.

    A clone of OWNER/NAME is the folder OWNER+NAME, with or without a work tree.
    """
    sections: list[Section] = []
    questions: list[Question] = []
    counts: Counter[str] = Counter()
    for source in sources:
        clone = clones / source.repository.replace("/", "+")
        if not clone.is_dir():
            counts["repositories without a clone"] += 1
            continue
        counts["repositories"] += 1
        begin = len(sections)
        sections += sections_of(source, clone)
        found = list(questions_of(sections[begin:], first=begin))
        most = MOST_OF_INTERVIEWS if INTERVIEWS.search(source.repository) else MOST_OF_ONE
        questions += found[:: -(-len(found) // most) or 1]
    counts["sections"] = len(sections)
    counts.update(question.kind for question in questions)
    write_rows(into / SECTIONS, sections)
    write_rows(into / QUESTIONS, questions)
    return counts


def sections_of(source: Source, clone: Path) -> Iterator[Section]:
    """All sections of a repository's English Markdown, each once."""
    seen: set[str] = set()
    for file, text in markdown_files(clone, source.commit):
        for section in cut(text, repository=source.repository, file=file):
            key = plain(section.text)[:200]
            if key not in seen:
                seen.add(key)
                yield section


def markdown_files(clone: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Path and text of each Markdown file at a commit; what is no UTF-8 is left out."""
    listed = _git(clone, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace").split("\0")
    wanted = [
        path
        for path in listed
        if path.lower().endswith((".md", ".mdx")) and "\n" not in path and not LEFT_OUT.search(path)
    ]
    names = "".join(f"{commit}:{path}\n" for path in wanted)
    output = BytesIO(_git(clone, "cat-file", "--batch", given=names))
    for path in wanted:
        header = output.readline().split()  # id, type and size, or what was asked for and "missing"
        if len(header) != 3 or header[1] != b"blob":
            continue
        content = output.read(int(header[2]) + 1)
        if len(content) > LARGEST_FILE:
            continue
        try:
            yield path, content.decode("utf-8")
        except UnicodeDecodeError:
            continue


def _git(clone: Path, *arguments: str, given: str = "") -> bytes:
    """What Git prints about a clone."""
    command = ["git", "-C", str(clone), *arguments]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"Cannot read '{clone}': {done.stderr.decode('utf-8', 'replace').strip()}.")
    return done.stdout


def cut(text: str, *, repository: str, file: str) -> Iterator[Section]:
    """The sections of a file; a line that asks begins one under its question."""
    try:
        found = read_sections(text, source=file)
    except ReaderError:
        return
    for section in found:
        headings = tuple(_readable(heading) for heading in section.metadata["heading_path"])
        for path, part in _parts(section.text, headings):
            clean = _readable(part).strip()[:LONGEST_TEXT]
            if len(WORD.findall(clean)) >= FEWEST_WORDS:
                yield Section(repository, file, path, clean)


def _parts(text: str, headings: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """A section's text, divided before each line that asks."""
    lines = list(LINE.finditer(text))
    ends = [line.start() for line in lines] + [len(text)]
    yield headings, text[: ends[0]]
    for line, end in zip(lines, ends[1:], strict=True):
        question = _readable(line["bold"] or line["plain"]).strip()
        yield (*headings, question), ANSWER_MARK.sub("", text[line.end() : end].lstrip())


def questions_of(sections: Iterable[Section], *, first: int = 0) -> Iterator[Question]:
    """The questions among the sections' own headings; `first` is the number of the first section."""
    seen: set[str] = set()
    for number, section in enumerate(sections, first):
        text = NUMBERING.sub("", section.headings[-1]).strip() if section.headings else ""
        kind = kind_of(text, section.file)
        key = plain(text)
        if kind and key not in seen and is_answer(section.text, text):
            seen.add(key)
            yield Question(text, kind, number)


def kind_of(text: str, file: str = "") -> str:
    """Whether a heading is a `question`, one of an `faq`, a `problem`, or nothing of these ("")."""
    if not 3 <= len(WORD.findall(text)) <= 28 or not text.isascii() or NEEDS_CONTEXT.search(text):
        return ""
    if text.endswith("?") or ASKS.match(text):
        return "faq" if "faq" in file.lower() else "question"
    return "problem" if COMPLAINS.search(text) and not TITLES.search(text) else ""


def is_answer(text: str, question: str) -> bool:
    """Whether a text says something, and does not only point elsewhere or repeat the question."""
    words = len(WORD.findall(text))
    if words < FEWEST_IN_ANSWER or (words < POINTING_WORDS and POINTS_ELSEWHERE.match(text)):
        return False
    return plain(question) not in plain(text)


def _readable(text: str) -> str:
    """Markdown without links' targets, tags and comments."""
    return TAG.sub("", LINK.sub(r"\1", text)).strip()
