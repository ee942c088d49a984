"""What must not be kept: keys, tokens, passwords, card and account numbers; and what must not be trusted.

A secret is told by a label and what joins both ("the password is …", "DB_PASS=…"), or by its own shape; what
tells the assistant how to behave, by its words. The patterns of `guard.toml` are bounded: a text takes time
in proportion to its length, whoever wrote it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from memory.reading import rules_of
from memory.reading.records import Secret, SecretKind

Span = tuple[int, int, SecretKind]
Row = dict[str, Any]

_BEFORE = 90  # characters before a label that may name its owner or be its value
_LONG = 400  # characters of a value, of which the rest is looked for
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\U000e0000-\U000e007f]")
_SPACED_OUT = re.compile(r"\b(?:[A-Za-z][ ._-]){2,}[A-Za-z]\b")

# -- how a secret looks ------------------------------------------------------------------------------------


def _is_shuffled(text: str) -> object:
    """Letters and digits in turn, or digits in many groups: nobody's word."""
    grouped = r"\d{4,6}(?:-\d{4,6}){3,}"
    base32 = r"(?=[A-Z]*\d)[A-Z2-7]{16,}=*"
    return len(text) > 7 and (_turns(text) > 2 or re.fullmatch(rf"{grouped}|{base32}", text))


def _turns(text: str) -> int:
    """How often letters and digits take turns."""
    return len(re.findall(r"[^\W\d][_-]?\d|\d[_-]?[^\W\d]", text))


def _is_code(text: str) -> object:
    return re.fullmatch(
        r"[A-Za-z]?\d{4,8}[A-Za-z]?#?|(?=.{4})\d{1,6}(?:-\d{1,6}){1,7}", text
    ) or _is_lettered(text)


def _is_lettered(text: str) -> object:
    """Digits with letters among them, as on a keypad: "K7-4411B"; no name of a part ("C-104", "sha256")."""
    keys = re.fullmatch(r"(?=(?:[a-z-]*\d){3})(?!.*[a-z]{3})[\da-z]+(?:-[\da-z]+)*#?", text, re.IGNORECASE)
    return _is_shuffled(text) or (keys and len(text) > 4 and _turns(text) > 1)


def _is_random(text: str) -> bool:
    """Letters of both cases and digits, mixed: a key rather than a path, a name or a checksum."""
    mixed = re.search(r"[a-z]", text) and re.search(r"[A-Z]", text) and len(re.findall(r"\d", text)) > 3
    plain = text.count("/") < 3 and not re.search(r"[a-z]{12}", text)
    return bool(mixed) and plain and ("." not in text.rstrip(".") or _turns(text) > 5)


def _is_seed(text: str) -> bool:
    """Whether words are as many as those of a recovery phrase, few of them twice (BIP 39)."""
    words = text.split()
    return len(words) % 3 == 0 and len({*words}) >= len(words) - 3


def _is_card(text: str) -> bool:
    """Whether the weighted digits sum to a multiple of 10 (Luhn, ISO/IEC 7812)."""
    digits = [int(character) for character in text if character.isdigit()]
    odd, even = digits[::-2], digits[-2::-2]
    total = sum(odd) + sum(2 * digit - (9 if digit > 4 else 0) for digit in even)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits are right: the number by 97 leaves 1 (ISO 13616)."""
    plain = text.replace(" ", "").replace("-", "").upper()
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


# -- finding them ------------------------------------------------------------------------------------------


def secrets_in(text: str) -> tuple[Secret, ...]:
    """Where keys, tokens, passwords, card and account numbers stand, in order, without overlaps."""
    plain, places = _as_read(text)
    found: list[Secret] = []
    for start, end, kind in sorted((*_shaped(plain), *_labelled(plain)), key=lambda span: span[:2]):
        secret = Secret(kind, places[start], places[end - 1] + 1)
        if found and secret.start < found[-1].end:
            found[-1] = replace(found[-1], end=max(secret.end, found[-1].end))
        else:
            found.append(secret)
    return tuple(found)


def without_secrets(text: str) -> str:
    """The text with each secret overwritten by "•", at the same length: offsets stay."""
    characters = list(text)
    for secret in secrets_in(text):
        characters[secret.start : secret.end] = "•" * (secret.end - secret.start)
    return "".join(characters)


def _as_read(text: str) -> tuple[str, Sequence[int]]:
    """The text with wide letters as plain ones and nothing invisible, and where each character stood."""
    if text.isascii():
        return text, range(len(text))
    read = [
        (letter, place)
        for place, character in enumerate(text)
        if not _INVISIBLE.match(character)
        for letter in unicodedata.normalize("NFKC", character)
    ]
    return "".join(letter for letter, _ in read), [place for _, place in read]


def _shaped(text: str) -> Iterator[Span]:
    for row in rules_of("guard")["shape"]:
        for match in _compiled(row["pattern"]).finditer(text):
            start, end = match.span("value" if "value" in match.re.groupindex else 0)
            value = text[start:end]
            first = match.groupdict().get("first") or value.split()[0]
            if _looks(row.get("looks", ""), value) and not _of("no_value").fullmatch(first):
                yield start, end, SecretKind(row["kind"])


def _labelled(text: str) -> Iterator[Span]:
    for label in rules_of("guard")["label"]:
        done = 0  # what stands within a value announces nothing
        for match in _compiled(rf"(?i)(?:{label['words']}){_words('label_ends')}").finditer(text):
            if match.start() < done:
                continue
            for start, end in _announced(text, match.start(), match.end(), label):
                done = max(done, end)
                yield start, end, SecretKind(label["kind"])


def _announced(text: str, start: int, end: int, label: Row) -> Iterator[tuple[int, int]]:
    """Where the value of a label stands, before it ("… is my password") and behind it."""
    begin = max(0, start - _BEFORE)
    lead = text[begin:start]
    if (
        (first := _of("value_first").search(lead))
        and "beside" in label
        and _looks(label["beside"], first["value"])
    ):
        yield begin + first.start("value"), begin + first.end("value")
    owned = bool(_of("whose").search(lead))
    for bridge in map(_compiled, _words("bridges")):
        if (match := bridge.match(text, end)) and (span := _value(text, match, label, owned=owned)):
            yield span
            return


def _value(text: str, match: re.Match[str], label: Row, *, owned: bool) -> tuple[int, int] | None:
    """Where the secret stands that a match may have found, if it looks like one."""
    assigned, quoted = match["assigned"] is not None, match["quoted"] is not None
    value = match["quoted"] or match["bare"].rstrip(".,;:!?)]}*\\")
    start = match.start("quoted" if quoted else "bare")
    end = start + len(value)
    if not value or _of("no_value").fullmatch(value.split()[0]):
        return None
    if match.groupdict().get("beside") is not None:
        found = "beside" in label and _looks(label["beside"], value)
    elif _looks(label["told"], value):
        found = not value.replace(".", "").isdigit() or bool(_of("ends").match(text, end))
    else:
        ends = _of("ends").match(text, end) and not _of("describes").fullmatch(value)
        surely = quoted or (assigned and "=" in match["assigned"])
        found = "may_be_a_word" in label and bool(surely or (ends and (owned or assigned)))
    if not found:
        return None
    rest = None if quoted or len(match["bare"]) < _LONG else _of("rest").match(text, end)
    return start, rest.end() if rest else end


def _looks(name: str, text: str) -> bool:
    """Whether a text looks as `guard.toml` says, by a pattern or by a function of this name."""
    pattern = rules_of("guard")["looks"].get(name)
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


def _words(name: str) -> Any:
    return rules_of("guard")["words"][name]


def _of(name: str) -> re.Pattern[str]:
    return _compiled(_words(name))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when the first text is looked at: importing this is quick."""
    return re.compile(pattern)


# -- what is not to be trusted -----------------------------------------------------------------------------


def reads_as_instruction(text: str) -> bool:
    """True for a text that tells the assistant how to behave, rather than something that is true.

    Letters that look alike, invisible characters and s p a c e d words are read as what they stand for.
    """
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    ways = {plain, " ".join(plain.split())}
    if _SPACED_OUT.search(plain):
        ways.add(_closed_up(plain))
    pattern = "(?i)" + "|".join(rules_of("guard")["instructions"]["patterns"])
    return any(_compiled(pattern).search(way) for way in ways)


def _closed_up(text: str) -> str:
    """Words that are written letter by letter, as words: "i g n o r e   a l l" is "ignore all"."""
    apart = re.sub(r" {2,}", "\n", text)
    joined = _SPACED_OUT.sub(lambda match: re.sub(r"[ ._-]", "", match[0]), apart)
    return " ".join(joined.split())
