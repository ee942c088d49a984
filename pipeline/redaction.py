"""Redaction: removes the settings' passwords and keys from outgoing texts, as written and as URL-encoded."""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MARK = "[secret]"
PLAIN = re.compile(r".{0,5}|[A-Za-z-]{1,12}")  # not hidden: words such as "ollama" occur in other text
SECRET_NAME = re.compile(r"(key|token|password|secret|authorization)$", re.IGNORECASE)
_USER = re.compile(r"(?:[\w+.-]+://)?(.*)@", re.DOTALL)  # up to the last @: a password may contain one
_CREDENTIALS = re.compile(r"(//|^(?![\w+.-]*://))[^\s'\"]{0,1000}@")
_SECRET_OPTION = re.compile(r"(?i)([?&;][^=?&;\s'\"]{0,100}(?:key|token|password|secret)=)[^&;\s'\"]*")

_known: frozenset[str] = frozenset()  # every form of every secret; replaced as a whole


def hide(options: Mapping[str, Any]) -> None:
    """Let `redacted` replace the `secrets_in` these options from now on, except short or plain words."""
    global _known  # global, because a process has one set of logs
    for secret in secrets_in(options):
        if not PLAIN.fullmatch(secret):
            _known |= {secret, unquote(secret), quote(secret), quote(secret, safe=""), quote_plus(secret)}


def secrets_in(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of options named like secrets, and the passwords and keys in URL options."""
    for name, value in options.items():
        if not isinstance(value, str):
            continue
        if SECRET_NAME.search(name):
            yield value
        elif name.endswith("url"):
            yield from (part.partition(":")[2] or part for part in _USER.findall(value))
            yield from (match[0].partition("=")[2] for match in _SECRET_OPTION.finditer(value))


def redacted(text: str) -> str:
    """Return the text with each known secret replaced by `MARK`."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, MARK)
    return text


def held_back(text: str) -> int:
    """Return how many characters at the end of a streamed text may begin a secret; 0 if none."""
    begun = ((secret, n) for secret in _known for n in range(min(len(secret) - 1, len(text)), 0, -1))
    return max((n for secret, n in begun if text.endswith(secret[:n])), default=0)


def without_password(url: str) -> str:
    """Return a URL that can be shown: without user and password, with each key replaced by "…"."""
    return _SECRET_OPTION.sub(r"\1…", _CREDENTIALS.sub(r"\1", url))


def guard_output() -> None:
    """Remove secrets from all logs and tracebacks of this process; for programs, not for libraries."""
    make = logging.getLogRecordFactory()

    def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        made = make(*args, **kwargs)
        made.msg, made.args = redacted(made.getMessage()), ()
        if made.exc_info and made.exc_info[1]:
            made.exc_text = _traceback(made.exc_info[1]).rstrip("\n")
        return made

    logging.setLogRecordFactory(record)
    sys.excepthook = lambda _kind, error, _trace: sys.stderr.write(_traceback(error))
    threading.excepthook = lambda thread: sys.stderr.write(_traceback(thread.exc_value))


def _traceback(error: BaseException | None) -> str:
    return redacted("".join(traceback.format_exception(error)))
