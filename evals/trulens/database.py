"""TruLens' database: a file of SQLite, or another by its SQLAlchemy URL. TruLens is an extra."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigurationError
from pipeline.redaction import hide


@contextmanager
def open_session(database: str) -> Iterator[Any]:
    """TruLens' session over the database, which is made where there is none; one at a time.

    It records spans of OpenTelemetry, and for that TruLens makes its own tracer provider the process's
    global one, for good. Raises `ConfigurationError`.
    """
    hide({"database_url": database})
    session = _open(database_url(database))
    try:
        yield session
    finally:
        session.force_flush()
        # The tracer provider outlives the session: it must not write on into this database.
        session.experimental_otel_exporter.disable()
        type(session).delete_singleton(type(session))


def database_url(database: str) -> str:
    """SQLAlchemy's URL of a database that is given as one or as a file's path; makes the file's folder."""
    if "://" in database:
        return database
    path = Path(database).expanduser().absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot make the folder of '{database}': {error.strerror}.", "Name a file that can be written."
        ) from error
    return f"sqlite:///{path}"


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(://[^/@]*:)[^/]*@", r"\1***@", url)


def not_installed(error: ModuleNotFoundError) -> ConfigurationError:
    """What to say where TruLens or a part of it is missing."""
    return ConfigurationError(
        f"TruLens needs the package '{error.name}', which is not installed.",
        "Install the extra: `pip install 'athena-docs[trulens]'`.",
    )


def _open(url: str) -> Any:
    try:
        import trulens.feedback  # noqa: F401  (what stores a feedback is in it)
        from sqlalchemy.exc import SQLAlchemyError
        from trulens.core.database.exceptions import DatabaseVersionException
        from trulens.core.session import TruSession
    except ModuleNotFoundError as error:
        raise not_installed(error) from error
    try:
        session: Any = TruSession(database_url=url)
        session.connector.db.check_db_revision()
    except (SQLAlchemyError, DatabaseVersionException, ModuleNotFoundError) as error:
        raise ConfigurationError(
            f"Cannot open the TruLens database '{without_password(url)}': {str(error).splitlines()[0]}.",
            "Name a file that is new or of this TruLens, or the URL of a database whose driver is installed.",
        ) from error
    return session
