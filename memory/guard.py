"""Find secrets, which are never kept, and instructions, which are never trusted.

A secret (key, token, password, card or account number) is found by its label ("the password is …",
"DB_PASS=…") or by its own shape; an instruction to the assistant by its words. The patterns are in
`guard.toml`; their repetitions are bounded, so that the time is proportional to the length of the text.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_BEFORE = 90  # characters before a label in which its value is searched
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\U000e0000-\U000e007f]")
MASK = "•"  # stands for a character of a secret
_SPACED_OUT = re.compile(r"\b(?:[A-Za-z][ ._-]){2,}[A-Za-z]\b")


@dataclass(frozen=True, slots=True, order=True)
class Secret:
    """The place of a secret in a text, in code points, and its kind ("password"); never its value."""

    start: int
    end: int
    kind: str


@cache
def _rules() -> Mapping[str, Any]:
    """Return the content of `guard.toml`."""
    return tomllib.loads(Path(__file__).with_name("guard.toml").read_text(encoding="utf-8"))


# -- how a secret looks ------------------------------------------------------------------------------------


def _turns(text: str) -> int:
    """Count the pairs of a letter and a digit next to each other; no character is in two pairs."""
    return len(re.findall(r"[^\W\d][_-]?\d|\d[_-]?[^\W\d]", text))


def _is_shuffled(text: str) -> object:
    """Tell whether 8 or more characters alternate letters and digits, are base32, or 4+ digit groups."""
    grouped = r"\d{4,6}(?:-\d{4,6}){3,}|(?=[A-Z]*\d)[A-Z2-7]{16,}=*"
    return len(text) > 7 and (_turns(text) > 2 or re.fullmatch(grouped, text))


def _is_code(text: str) -> object:
    digits = r"[A-Za-z]?\d{4,8}[A-Za-z]?#?|(?=.{4})\d{1,6}(?:-\d{1,6}){1,7}"
    return re.fullmatch(digits, text) or _is_lettered(text)


def _is_lettered(text: str) -> object:
    """Tell whether a text looks like a keypad code ("K7-4411B"), and not like a part's name ("C-104")."""
    keys = re.fullmatch(r"(?=(?:[a-z-]*\d){3})(?!.*[a-z]{3})[\da-z]+(?:-[\da-z]+)*#?", text, re.IGNORECASE)
    return _is_shuffled(text) or (keys and len(text) > 4 and _turns(text) > 1)


def _is_random(text: str) -> bool:
    """Tell whether letters of both cases and digits are mixed as in a key, not as in a path or a name."""
    mixed = re.search(r"[a-z]", text) and re.search(r"[A-Z]", text) and len(re.findall(r"\d", text)) > 3
    plain = text.count("/") < 3 and not re.search(r"[a-z]{12}", text)
    return bool(mixed) and plain and ("." not in text.rstrip(".") or _turns(text) > 5)


def _is_seed(text: str) -> bool:
    """Tell whether a text has 3n words, few of them twice, like a recovery phrase (BIP 39)."""
    words = text.split()
    return len(words) % 3 == 0 and len({*words}) >= len(words) - 3


def _is_card(text: str) -> bool:
    """Tell whether 13 to 19 digits, not all equal, have a valid checksum (Luhn, ISO/IEC 7812)."""
    digits = [int(character) for character in text if character.isdigit()]
    odd, even = digits[::-2], digits[-2::-2]
    total = sum(odd) + sum(2 * digit - (9 if digit > 4 else 0) for digit in even)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and total % 10 == 0


def _is_iban(text: str) -> bool:
    """Tell whether 15 to 34 characters have valid check digits: the number modulo 97 is 1 (ISO 13616)."""
    plain = text.replace(" ", "").replace("-", "").upper()
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


# -- finding them ------------------------------------------------------------------------------------------


def secrets_in(text: str) -> tuple[Secret, ...]:
    """Return the secrets in a text, in order; overlapping ones become one, of the first one's kind."""
    plain, places = _as_read(text)
    found: list[Secret] = []
    for one in sorted((*_shaped(plain), *_labelled(plain)), key=lambda one: (one.start, one.end)):
        secret = replace(one, start=places[one.start], end=places[one.end - 1] + 1)
        if found and secret.start < found[-1].end:
            found[-1] = replace(found[-1], end=max(secret.end, found[-1].end))
        else:
            found.append(secret)
    return tuple(found)


def without_secrets(text: str) -> str:
    """Return the text with `MASK` for every character of a secret: offsets stay the same."""
    characters = list(text)
    for secret in secrets_in(text):
        characters[secret.start : secret.end] = MASK * (secret.end - secret.start)
    return "".join(characters)


def _as_read(text: str) -> tuple[str, Sequence[int]]:
    """Return the text in NFKC without invisible characters, and the original place of each character."""
    if text.isascii():
        return text, range(len(text))
    read = [
        (letter, place)
        for place, character in enumerate(text)
        if not _INVISIBLE.match(character)
        for letter in unicodedata.normalize("NFKC", character)
    ]
    return "".join(letter for letter, _ in read), [place for _, place in read]


def _shaped(text: str) -> Iterator[Secret]:
    """Yield the secrets that have a typical shape of their own."""
    for row in _rules()["shape"]:
        for match in _compiled(row["pattern"]).finditer(text):
            start, end = match.span("value" if "value" in match.re.groupindex else 0)
            first = match.groupdict().get("first") or text[start:end].split()[0]
            if _looks(row.get("looks", ""), text[start:end]) and not _of("no_value").fullmatch(first):
                yield Secret(start, end, row["kind"])


def _labelled(text: str) -> Iterator[Secret]:
    """Yield the secrets before or after a label; a label inside a secret that was found is skipped."""
    for label in _rules()["label"]:
        done = 0
        for match in _compiled(rf"(?i)(?:{label['words']}){_rules()['words']['label_ends']}").finditer(text):
            if match.start() < done:
                continue
            for start, end in _announced(text, match.start(), match.end(), label):
                done = max(done, end)
                yield Secret(start, end, label["kind"])


def _announced(text: str, start: int, end: int, label: Row) -> Iterator[tuple[int, int]]:
    """Yield start and end of a label's value, before the label ("… is my password") and after it."""
    begin = max(0, start - _BEFORE)
    first = _of("value_first").search(text[begin:start])
    if first and "beside" in label and _looks(label["beside"], first["value"]):
        yield begin + first.start("value"), begin + first.end("value")
    matches = filter(None, (_compiled(bridge).match(text, end) for bridge in _rules()["words"]["bridges"]))
    yield from islice(filter(None, (_value(text, match, label) for match in matches)), 1)


def _value(text: str, match: re.Match[str], label: Row) -> tuple[int, int] | None:
    """Return start and end of the value in a match; None if the value does not look like a secret."""
    is_quoted = match["quoted"] is not None
    value = match["quoted"] or match["bare"].rstrip(".,;:!?)]}*\\")
    start = match.start("quoted" if is_quoted else "bare")
    end = start + len(value)
    if not value or _of("no_value").fullmatch(value.split()[0]):
        return None
    ends = _of("ends").match(text, end)
    if match.groupdict().get("beside") is not None:
        found = "beside" in label and _looks(label["beside"], value)
    elif _looks(label["told"], value):
        found = not value.replace(".", "").isdigit() or bool(ends)
    else:
        surely = is_quoted or "=" in (match["assigned"] or "")
        found = "may_be_a_word" in label and bool(surely or (ends and not _of("describes").fullmatch(value)))
    if not found:
        return None
    return start, end


def _looks(name: str, text: str) -> bool:
    """Tell whether a text passes a test by its name: a pattern in `guard.toml`, or a function in `_LOOKS`."""
    pattern = _rules()["looks"].get(name)
    return bool(_compiled(pattern).match(text) if pattern else _LOOKS[name](text))


_LOOKS: dict[str, Callable[[str], object]] = {
    "": bool,
    "shuffled": _is_shuffled,
    "code": _is_code,
    "lettered": _is_lettered,
    "random": _is_random,
    "seed": _is_seed,
    "card": _is_card,
    "iban": _is_iban,
}


def _of(name: str) -> re.Pattern[str]:
    """Return the compiled pattern of this name in the table `words` of `guard.toml`."""
    return _compiled(_rules()["words"][name])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern; compiled at its first use, to keep the import fast."""
    return re.compile(pattern)


# -- instructions to the assistant -------------------------------------------------------------------------


def reads_as_instruction(text: str) -> bool:
    """Tell whether a text instructs the assistant instead of stating something.

    Unicode compatibility forms, invisible characters and s p a c e d words are normalised first.
    """
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    ways = {plain, " ".join(plain.split())}
    if _SPACED_OUT.search(plain):
        ways.add(_closed_up(plain))
    pattern = "(?i)" + "|".join(_rules()["instructions"]["patterns"])
    return any(_compiled(pattern).search(way) for way in ways)


def _closed_up(text: str) -> str:
    """Join words that are written letter by letter: "i g n o r e   a l l" becomes "ignore all"."""
    apart = re.sub(r" {2,}", "\n", text)
    joined = _SPACED_OUT.sub(lambda match: re.sub(r"[ ._-]", "", match[0]), apart)
    return " ".join(joined.split())
