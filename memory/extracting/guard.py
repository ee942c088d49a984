"""What must not be kept: keys, tokens, passwords, card and account numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from memory.extracting.instructions import reads_as_instruction
from memory.extracting.records import Secret, SecretKind

__all__ = ["reads_as_instruction", "secrets_in", "without_secrets"]

_NO_VALUE = (
    r"(?!(?::|(?:a|an|the|not|no|never|wrong|required|needed|too|very|stored|kept|saved|in|on|at|by|for|from|of|with"
    r"|expired|lost|invalid|incorrect|safe|secure|long|short|weak|strong|being|reset|changed|set|different|same"
    r"|missing|empty|and|or|if|when|what|where|how|why|only|always|sent|shown|hashed|encrypted|printed|read|used"
    r"|valid|optional|mandatory|rejected|refused|accepted|unknown|forgotten|there|here|it|that|this|my|your|our"
    r"|still|also|now|case|one|something|so|about|to|as|asked|checked|entered|typed|ok|okay|fine|gone|old|new|none"
    r"|null|false|true)\b))"
)
_VALUE = rf"{_NO_VALUE}[\"'“`]?(?P<value>[^\s\"'”`,;]{{3,}}?)(?=[\"'”`]?(?:[.,;!?]*(?:\s|$)|[,;\"'”`]))"
_WORD = r"(?:pas{1,2} ?wor[dt]s?|passwd|pass ?codes?|pwd|pin(?: code| number)?)"
_LOOSE = r"(?:pw|combination|(?:access|alarm|door|entry|gate|lock|locker|safe|unlock) codes?)"  # of somebody
_OF_A_LOCK = r"(?:combination|(?:door|gate|lock|locker|safe|unlock) codes?)"
_WORDS = r"(?:recovery|seed|backup|mnemonic|wallet)[ -]?(?:phrase|words|mnemonic)"
_NUMBER = r"(?: (?:number|code|no|nr)\.?)?(?: is|:| =)? ?"
_KEY = (
    r"(?:api[ _-]?keys?|access[ _-]?keys?|secret[ _-]?keys?|client[ _-]?secrets?"
    r"|(?:auth|access|bearer|refresh|api|session)?[ _-]?tokens?|secrets?|credentials?)"
)
_WHOSE = r"\b(?:my|our|his|her|their|the \w+|\w+['’]s)(?: \w+){0,2}? "
_FOR = r"(?:[ ](?:for|of|to|on)[ ][\w .@-]{1,40}?)?"
_IS = r"(?:[ ]?(?:=|:|->|=>)[ ]?|[ ](?:is|was|are)(?: now| actually| set to)?:?[ ])"


def secrets_in(text: str) -> tuple[Secret, ...]:
    """Where keys, tokens, passwords, card and account numbers stand, in order, without overlaps."""
    found: list[Secret] = []
    for kind, pattern, is_secret in _secrets():
        for match in pattern.finditer(text):
            start, end = match.span("value" if "value" in pattern.groupindex else 0)
            taken = any(start < other.end and other.start < end for other in found)
            if not taken and is_secret(text[start:end]):
                found.append(Secret(kind, start, end))
    return tuple(sorted(found, key=lambda secret: secret.start))


def without_secrets(text: str) -> str:
    """The text with each secret overwritten by "•", at the same length: offsets stay."""
    characters = list(text)
    for secret in secrets_in(text):
        characters[secret.start : secret.end] = "•" * (secret.end - secret.start)
    return "".join(characters)


def _is_card(text: str) -> bool:
    """Whether the weighted digits sum to a multiple of 10 (Luhn, ISO/IEC 7812)."""
    digits = [int(character) for character in text if character.isdigit()]
    odd, even = digits[::-2], digits[-2::-2]
    total = sum(odd) + sum(2 * digit - (9 if digit > 4 else 0) for digit in even)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits are right: the number by 97 leaves 1 (ISO 13616)."""
    plain = text.replace(" ", "").upper()
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def _is_random(text: str) -> bool:
    """Letters of both cases and digits, mixed: a key rather than a path, a name or a checksum."""
    mixed = re.search(r"[a-z]", text) and re.search(r"[A-Z]", text) and len(re.findall(r"\d", text)) > 3
    return bool(mixed) and text.count("/") < 3 and not re.search(r"[a-z]{12}", text)


def _has_digit_or_sign(text: str) -> bool:
    return bool(re.search(r"[\d!@#$%^&*]", text))


def _is_long(text: str) -> bool:
    return len(text) > 7 and bool(re.search(r"\d", text))


_SHAPES: tuple[tuple[SecretKind, str, Callable[[str], bool]], ...] = (
    (
        SecretKind.PRIVATE_KEY,
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)",
        bool,
    ),
    (SecretKind.TOKEN, r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?", bool),  # a JSON web token
    (
        SecretKind.KEY,
        r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
        r"|(?:sk|pk|rk)[-_](?:live[-_]|test[-_]|proj[-_]|ant[-_])?[\w-]{16,}|xox[abeoprs]-[\w-]{10,}"
        r"|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|AGE-SECRET-KEY-\w+"
        r"|ya29\.[\w-]{20,}|dop_v1_\w{30,}|pypi-[\w-]{30,})",
        bool,
    ),
    (SecretKind.TOKEN, r"(?i)\bbearer (?P<value>[\w.~+/=-]{12,})", bool),
    (SecretKind.PASSWORD, r"(?i)\b[a-z][a-z+]*://[^\s:/@]+:(?P<value>[^\s@/]{2,})@", bool),
    (SecretKind.PASSWORD, rf"(?i)\bpass ?phrase{_FOR}{_IS}{_NO_VALUE}(?P<value>[^.;!?\n]{{3,}})", bool),
    (
        SecretKind.PASSWORD,
        rf"(?i)\b{_WHOSE}{_WORDS}{_FOR}{_IS}{_NO_VALUE}(?P<value>(?:\w+[ ,]+){{2,}}\w+)",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        rf"(?i)\b(?:(?:my|his|her)(?: (?:bank|card|sim|phone|door))?|bank|sim|phone) pin{_NUMBER}"
        r"(?P<value>\d{4,8})\b(?![.,]?\d)(?=\W*$| (?:and|for|of)\b)",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        r"(?i)\b(?:log-?in|credentials)\b[^.;!?\n]{0,40}?(?: is| are|:|=) ?\S+ ?"
        r"/ ?(?P<value>\S{4,})",
        _has_digit_or_sign,
    ),
    (
        SecretKind.PASSWORD,
        rf"(?i)\b{_OF_A_LOCK}{_FOR}{_IS}(?P<value>\d{{4,}}|\d\d?(?:-\d\d?){{2,}})(?= ?\W*$)",
        bool,
    ),
    (SecretKind.PASSWORD, rf"(?i){_WHOSE}{_WORD}{_FOR}{_IS}{_VALUE}", bool),
    (SecretKind.PASSWORD, rf"(?i){_WHOSE}{_LOOSE}{_FOR}{_IS}{_VALUE}", _has_digit_or_sign),
    (SecretKind.PASSWORD, rf"(?i)(?<![\w:])\w*{_WORD}\w*(?:=|:[ ]?|[ ]=[ ]){_VALUE}", bool),
    (SecretKind.PASSWORD, rf"(?i)\b{_WORD}{_FOR}{_IS}{_VALUE}", _has_digit_or_sign),
    (SecretKind.CARD, r"(?i)\b(?:cvv|cvc|security code)\d?(?: is|:|=)? ?(?P<value>\d{3,4})\b", bool),
    (SecretKind.TOKEN, rf"(?i)(?<![\w:])\w*{_KEY}{_FOR}{_IS}{_VALUE}", _is_long),
    (SecretKind.CARD, r"(?<![\w+.-])[3-6]\d{3}(?:[ -]?\d){9,15}(?![\w-]|\.\d)", _is_card),
    (
        SecretKind.ACCOUNT,
        r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b",
        _is_iban,
    ),
    (
        SecretKind.ACCOUNT,
        r"(?i)\b(?:acct|(?:bank )?account (?:number|no\.?|nr\.?))(?: is|:)? ?(?P<value>\d{6,17})\b",
        bool,
    ),
    (SecretKind.ACCOUNT, r"(?i)\bsort(?: code)?(?: is|:)? ?(?P<value>\d\d-\d\d-\d\d)(?=\W*$)", bool),
    (
        SecretKind.ACCOUNT,
        rf"(?i)\bpass?ports?{_NUMBER}(?P<value>[a-z]{{0,2}}\d[a-z0-9]{{5,8}})\b",
        bool,
    ),
    (SecretKind.ACCOUNT, r"(?i)\b(?:ssn|social)\b[\w ]{0,24}?:? ?(?P<value>\d{3}-\d{2}-\d{4})\b", bool),
    (SecretKind.KEY, r"(?<![\w/.-])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w/.])", _is_random),
)


@lru_cache(maxsize=1)
def _secrets() -> tuple[tuple[SecretKind, re.Pattern[str], Callable[[str], bool]], ...]:
    """Compiled when the first text is looked at: importing this is quick."""
    return tuple((kind, re.compile(pattern), is_secret) for kind, pattern, is_secret in _SHAPES)
