"""Where the two servers are; messages name them without a password."""

from __future__ import annotations

import re
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import model_validator

from pipeline.errors import ConfigurationError
from pipeline.options import ServerOptions, is_server_address
from pipeline.redaction import without_password

MONGODB_SETTING = "ATHENA_MONGODB_URL"
WEAVIATE_SETTING = "ATHENA_WEAVIATE_URL"
WEAVIATE_KEY_SETTING = "ATHENA_WEAVIATE_API_KEY"
WEAVIATE_GRPC_SETTING = "ATHENA_WEAVIATE_GRPC_PORT"

_MONGODB_URL = re.compile(r"mongodb(\+srv)?://([^/?#@]*@)?[^/?#@]+([/?][^@]*)?")
"""An unescaped character of a password would move a part of it into the host, which drivers' errors quote."""

_PASSWORD = re.compile(r"//[^\s:/]*:(.*)@")
_PREFIX = re.compile(r"[A-Z][A-Za-z0-9]*")


class ServerAddresses(ServerOptions):
    """The options of both servers; values that cannot work raise `ConfigurationError`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not _MONGODB_URL.fullmatch(self.mongodb_url):
            raise ConfigurationError(
                f"{MONGODB_SETTING} cannot be used.",
                "Give it as mongodb://USER:PASSWORD@HOST:PORT, with %XX for special characters.",
            )
        if not is_server_address(self.weaviate_url):
            raise ConfigurationError(
                f"{WEAVIATE_SETTING} cannot be '{without_password(self.weaviate_url)}'.",
                "Give it with its scheme and port: http://localhost:8080 is one.",
            )
        if self.weaviate_port == self.weaviate_grpc_port:
            raise ConfigurationError(
                f"{WEAVIATE_SETTING} and {WEAVIATE_GRPC_SETTING} name the same port, {self.weaviate_port}.",
                "Weaviate answers HTTP at one port and gRPC at another: give both.",
            )
        if not _PREFIX.fullmatch(self.weaviate_prefix):
            raise ConfigurationError(
                f"ATHENA_MONGODB_DATABASE cannot be '{self.mongodb_database}': Weaviate's collections are "
                "called like it.",
                "Use letters, digits and _, beginning with a letter.",
            )
        return self

    @property
    def weaviate(self) -> SplitResult:
        """Weaviate's URL in its components."""
        return urlsplit(self.weaviate_url)

    @property
    def weaviate_port(self) -> int:
        """Weaviate's HTTP port."""
        return self.weaviate.port or (443 if self.weaviate_is_secure else 80)

    @property
    def weaviate_is_secure(self) -> bool:
        """True where Weaviate is reached by TLS, for HTTP and gRPC alike."""
        return self.weaviate.scheme == "https"

    @property
    def grpc_host(self) -> str:
        """The host of Weaviate's gRPC port."""
        return self.weaviate.hostname or ""

    @property
    def weaviate_prefix(self) -> str:
        """How the names of Weaviate's collections begin: as the database in MongoDB, without `_`."""
        return "".join(word[:1].upper() + word[1:] for word in self.mongodb_database.split("_"))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys and passwords that no message may show, longest first."""
        urls = (self.mongodb_url, self.weaviate_url)
        written = [self.weaviate_api_key, *(found for url in urls for found in _PASSWORD.findall(url))]
        return tuple(sorted({*written, *map(unquote, written)} - {""}, key=len, reverse=True))
