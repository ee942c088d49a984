"""Where Neo4j is and who we are there, taken apart; shown without a password."""

from __future__ import annotations

from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import model_validator

from pipeline.errors import ConfigurationError
from pipeline.options import GraphOptions
from pipeline.redaction import without_password

URL_SETTING = "ATHENA_NEO4J_URL"
USER_SETTING = "ATHENA_NEO4J_USER"
PASSWORD_SETTING = "ATHENA_NEO4J_PASSWORD"  # noqa: S105  (the name of a setting)
DATABASE_SETTING = "ATHENA_NEO4J_DATABASE"

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


class GraphAddress(GraphOptions):
    """The options of Neo4j, checked: what could never be reached is a `ConfigurationError`.

    User and password of the URL come before those of their own settings.
    """

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if not _is_address(self.neo4j_url):
            raise ConfigurationError(
                f"{URL_SETTING} cannot be '{without_password(self.neo4j_url)}'.",
                "Give it as bolt://HOST:7687 (bolt+s:// for TLS, neo4j:// for a cluster), with %XX for "
                "special characters of a password.",
            )
        return self

    @property
    def url(self) -> str:
        """The URL as the driver takes it: without user and password."""
        parts = self._parts
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def user(self) -> str:
        """Who we are."""
        return unquote(self._parts.username or "") or self.neo4j_user

    @property
    def password(self) -> str:
        """What says so."""
        return unquote(self._parts.password or "") or self.neo4j_password

    @property
    def server(self) -> str:
        """How messages call it."""
        return f"Neo4j at '{without_password(self.url)}'"

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.neo4j_url.strip())


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url.strip())
        rest = f"{parts.path}{parts.query}{parts.fragment}"  # a password that is not quoted ends up here
        return parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0 and "@" not in rest
    except ValueError:  # a port that is not a number, or too large
        return False
