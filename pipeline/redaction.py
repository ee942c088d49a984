"""Passwords and keys are taken out of every text that leaves: messages, logs, traces, what is stored.

Options that carry a secret make it known as soon as they exist (`hide`). From then on `redacted` takes it out
of what is about to leave, and `heard` out of what a server said: as it stands, quoted for a URL, escaped in
JSON and by Python, in hexadecimal digits, in all but one of its characters (where the text is whole, not in a
stream), and in base64 at any place of a longer text, as a header has it. Forms that a server makes up itself,
one letter a line for example, nobody can foresee.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

MARK = "[secret]"
SHORT = 6
"""Characters. A secret that is shorter, or a plain word, cannot be told from text by itself: it is taken out
where it stands alone in what a server says of an error, and elsewhere behind a word such as "key" only."""

LONG, LONGEST_IN_PART = 16, 128
"""Characters. Secrets from and to these lengths are taken out with a character missing or wrong, too."""

PLAIN_WORD = re.compile(r"[a-z]{1,11}|[A-Z][a-z]{1,10}")
PLACEHOLDERS = frozenset(
    {"none", "no-key", "not-needed", "lm-studio", "ollama", "dummy", "empty", "null", "x"}
)
"""What people write where a server wants any key: no secrets."""

SECRET_NAME = re.compile(
    r"(?:key|token|password|passwd|pwd|secret|signature|credentials?|mechanismproperties)$|^(?:sig|auth)$",
    re.IGNORECASE,
)
CREDENTIAL_WORD = (
    r"(?:bearer|basic|api[ _-]?key|key|token|password|passwd|pwd|secret|authorization|credentials?)"
    r"\W{0,4}(?:\w{1,6}\W{1,3})?"
)
ENVIRONMENT = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HF_TOKEN",
    "OLLAMA_API_KEY",
)
"""Variables of other programs that ours obeys, and that may carry a secret."""

_CREDENTIALS = re.compile(
    r"(//|^(?![\w+.-]*://))[^\s'\"]{0,1000}@"
)  # up to the last @: a password may hold one
_USER = re.compile(r"(?:[\w+.-]+://)?(.*)@", re.DOTALL)  # of a setting: blanks, too
_SECRET_OPTION = re.compile(
    r"([?&;][^=?&;\s'\"]{0,100}(?:key|token|password|secret|properties|signature)[^=?&;\s'\"]{0,100}=)[^&;\s'\"]*",
    re.IGNORECASE,
)
LEFT_IN_URLS = ("", "/", "/:@!$&'()*+,;=~", "/:@!$&'()*+,;=~%|?")
"""What some quote nowhere, in a path, and what browsers and clients leave of it there or behind it."""


class Redactor:
    """Takes a set of secrets out of texts; without any it gives back what it gets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {text.strip() for text in secrets}
        self._secrets = {text for text in known if text and text.lower() not in PLACEHOLDERS}

    def __bool__(self) -> bool:
        return bool(self._secrets)

    @property
    def weak(self) -> int:
        """How many are too short, or too much like a word, to be taken out wherever they stand."""
        return len(self._weak)

    def redacted(self, text: str) -> str:
        """A text of ours, or an answer, on its way out."""
        text = self.redacted_whole(text)
        return self._in_part.sub(MARK, text) if self._in_part else text

    def redacted_whole(self, text: str) -> str:
        """The same, but for secrets that lack a character: what comes in pieces lacks some until its end."""
        if not self._secrets:
            return text
        text = self._anywhere.sub(MARK, text) if self._anywhere else text
        return self._behind_a_word.sub(rf"\1{MARK}", text) if self._behind_a_word else text

    def heard(self, text: str) -> str:
        """What a server said of an error: in so few words, short secrets count wherever they stand alone."""
        text = self.redacted(text)
        return self._alone.sub(MARK, text) if self._alone else text

    def stream(self) -> RedactedStream:
        """For a text that arrives in pieces."""
        return RedactedStream(self)

    def held_back(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a secret."""
        lower, longest = text.lower(), 0
        for form in self._forms:
            for length in range(min(len(form) - 1, len(lower)), longest, -1):
                if lower.endswith(form[:length]):
                    longest = length
                    break
        return longest

    @cached_property
    def _weak(self) -> list[str]:
        return [text for text in self._secrets if len(text) < SHORT or PLAIN_WORD.fullmatch(text)]

    @cached_property
    def _forms(self) -> list[str]:
        """Every form of the others in lower case, the longest first."""
        strong = self._secrets.difference(self._weak)
        found = {form.lower() for text in strong for form in _written(text)}
        return sorted(found, key=lambda form: (-len(form), form))

    @cached_property
    def _anywhere(self) -> re.Pattern[str] | None:
        return _any_of(self._forms, "{}")

    @cached_property
    def _in_part(self) -> re.Pattern[str] | None:
        """Those with one character missing or wrong, in their second half or in their first."""
        parts = []
        for text in sorted(self._secrets.difference(self._weak)):
            if LONG <= len(text) <= LONGEST_IN_PART:
                first, second = text[: len(text) // 2], text[len(text) // 2 :]
                parts += [
                    f"{re.escape(first)}(?:{_but_one(second, edge=len(second) - 1)})",
                    f"(?:{_but_one(first, edge=0)}){re.escape(second)}",
                ]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None

    @cached_property
    def _alone(self) -> re.Pattern[str] | None:
        return _any_of(self._weak, r"(?<![A-Za-z0-9]){}(?![A-Za-z0-9])", flags=0)

    @cached_property
    def _behind_a_word(self) -> re.Pattern[str] | None:
        before = rf"({CREDENTIAL_WORD}|//[^\s/@]*:)"
        return _any_of(self._weak, before + "{}(?![A-Za-z0-9])")


class RedactedStream:
    """A text in pieces: what may be the beginning of a secret waits for the next piece."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._waiting = ""

    def take(self, piece: str) -> str:
        """What can be said after this piece."""
        text = self._redactor.redacted_whole(self._waiting + piece)
        keep = len(text) - self._redactor.held_back(text)
        self._waiting = text[keep:]
        return text[:keep]

    def end(self) -> str:
        """What was kept back; half a secret and more stays unsaid."""
        rest, self._waiting = self._waiting, ""
        return MARK if len(rest) >= SHORT else rest


def secrets_in(values: Mapping[str, Any]) -> Iterator[str]:
    """The secrets among options by their names: keys, and the passwords and keys within URLs."""
    for name, value in values.items():
        given = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        if not isinstance(given, str) or not given:
            continue
        if SECRET_NAME.search(name) or given is not value:
            yield given
        if "://" in given or name.endswith("url"):
            yield from _in_url(given)


def _in_url(url: str) -> Iterator[str]:
    """Password (or a token that stands for the user), and the values of telling options, raw and meant."""
    if written := _USER.match(url):
        user, colon, password = written.group(1).partition(":")
        found = password if colon else user
        yield from (found, unquote(found))
        yield _base64(f"{unquote(user)}:{unquote(password)}")
    try:
        options = parse_qsl(urlsplit(url).query)
    except ValueError:
        return
    yield from (value for name, value in options if SECRET_NAME.search(name))


def _in_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name in ENVIRONMENT:
        value = environment.get(name, "")
        if "HEADERS" in name:
            for item in value.split(","):
                yield from (item.partition("=")[2], unquote(item.partition("=")[2]))
        elif "://" in value:
            yield from _in_url(value)
        elif not name.lower().endswith("proxy"):
            yield value


def without_password(url: str) -> str:
    """A URL fit to be shown: without user, password and keys."""
    return _SECRET_OPTION.sub(r"\1…", _CREDENTIALS.sub(r"\1", url))


# -- what this process knows -------------------------------------------------------------------------------

_lock = threading.Lock()
_known: set[str] = set()
_current = Redactor()


def hide(values: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> None:
    """Take the secrets among these options, and of the environment, out of all that leaves from now on."""
    found = {*secrets_in(values), *_in_environment(environment or {})} - {""}
    if found <= _known:
        return
    global _current  # a process has one set of logs, and any of its threads may write to them
    with _lock:
        _known.update(found)
        _current = Redactor(_known)
    _watch_logs()


def redactor() -> Redactor:
    """All secrets that this process knows of."""
    return _current


def redacted(text: str) -> str:
    """The text without any secret."""
    return _current.redacted(text)


def heard(text: str) -> str:
    """What a server said of an error, without any secret."""
    return _current.heard(text)


def guard_tracebacks() -> None:
    """From now on Python prints what nobody caught without secrets, in every thread."""

    def in_thread(args: threading.ExceptHookArgs) -> None:
        _print_without_secrets(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook = _print_without_secrets
    threading.excepthook = in_thread


def _watch_logs() -> None:
    """From now on every record of every logger is made without secrets, tracebacks included."""
    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        made = make(*args, **kwargs)
        if _current:
            _clean(made)
        return made

    record.redacts = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(record)


def _clean(record: logging.LogRecord) -> None:
    try:
        text = record.getMessage()
    except (TypeError, ValueError, KeyError):  # the handlers will say so
        return
    if (shown := redacted(text)) != text:
        record.msg, record.args = shown, ()
    if record.exc_info and record.exc_info[1]:
        record.exc_text = redacted("".join(traceback.format_exception(record.exc_info[1]))).rstrip("\n")


def _print_without_secrets(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))


# -- forms -------------------------------------------------------------------------------------------------


def _any_of(texts: Iterable[str], frame: str, *, flags: int = re.IGNORECASE) -> re.Pattern[str] | None:
    choices = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(frame.replace("{}", f"(?:{choices})"), flags) if choices else None


def _but_one(text: str, *, edge: int) -> str:
    """A pattern of a text in which a character is missing, or another one but at the `edge`."""
    return "|".join(
        f"{re.escape(text[:place])}{'' if place == edge else '.??'}{re.escape(text[place + 1 :])}"
        for place in range(len(text))
    )


def _written(secret: str) -> Iterator[str]:
    """A secret as it may be written."""
    given, secret = secret, secret.encode("utf-8", "replace").decode()  # bytes of no text have no other form
    quoted = {quote_plus(secret), unquote(secret), *(quote(secret, safe=safe) for safe in LEFT_IN_URLS)}
    twice = {quote(form, safe="") for form in quoted}  # an address within an address
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    plain = {given, secret, *quoted, *twice, *in_json, repr(secret)[1:-1], repr(given)[1:-1]}
    yield from (form for form in plain if len(form) >= SHORT)
    yield from (given.encode("utf-8", "replace").hex(*separator) for separator in ((), (" ",), (":",)))
    for data in {secret.encode(), unquote(secret).encode()}:
        yield from _within_base64(data)


def _within_base64(data: bytes) -> Iterator[str]:
    """What base64 makes of some bytes wherever they stand in others: six bits of each end may be shared."""
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        first = -(-before * 8 // 6) if before else 0
        last = (before + len(data)) * 8 // 6
        inner = text[first:last]
        if len(inner) > SHORT:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "replace")).decode()
