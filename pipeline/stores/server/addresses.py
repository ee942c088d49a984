"""Where the two servers are, and how they are named in messages: never with a password."""

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
WEAVIATE_CA_SETTING = "ATHENA_WEAVIATE_CA_FILE"

MIN_PIECE = 3  # characters; fewer are in every message

_CUTS = re.compile(r"[:/?#@,]")
_USER_INFO = re.compile(r"//[^\s:/]*:(.*)@")
_TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PREFIX = re.compile(r"[A-Z][A-Za-z0-9]*")


class ServerAddresses(ServerOptions):
    """The options of both servers, checked: what could never be reached is a `ConfigurationError`.

    Weaviate's collections begin with the prefix, so that several stores can share one server.
    """

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if not is_server_address(self.weaviate_url):
            raise ConfigurationError(
                f"{WEAVIATE_SETTING} cannot be '{without_password(self.weaviate_url)}'.",
                "Give it with its scheme and port: http://localhost:8080 is one.",
            )
        if self.weaviate_port == self.weaviate_grpc_port and self.grpc_host == self.weaviate.hostname:
            raise ConfigurationError(
                f"{WEAVIATE_SETTING} and {WEAVIATE_GRPC_SETTING} name the same port, {self.weaviate_port}.",
                "Weaviate answers HTTP at one and gRPC at another: give both.",
            )
        if self.weaviate_ca_file and not self.weaviate_is_secure:
            raise ConfigurationError(
                f"{WEAVIATE_CA_SETTING} is given, but {WEAVIATE_SETTING} is without TLS.",
                "Let the URL begin with https://, or leave the file out.",
            )
        if not _PREFIX.fullmatch(self.weaviate_prefix):
            raise ConfigurationError(
                f"ATHENA_WEAVIATE_PREFIX cannot be '{self.weaviate_prefix}'.",
                "It is made of letters and digits and begins with a capital letter.",
            )
        if self.weaviate_tenant and not _TENANT.fullmatch(self.weaviate_tenant):
            raise ConfigurationError(
                f"ATHENA_WEAVIATE_TENANT cannot be '{self.weaviate_tenant}'.",
                "It is made of letters, digits, '-' and '_', 64 at most.",
            )
        if self.weaviate_tenant and self.weaviate_shards > 1:
            raise ConfigurationError(
                f"ATHENA_WEAVIATE_SHARDS cannot be {self.weaviate_shards} with ATHENA_WEAVIATE_TENANT.",
                "Weaviate keeps a tenant in one part: leave one of the two out.",
            )
        return self

    @property
    def weaviate(self) -> SplitResult:
        """Weaviate's URL, taken apart."""
        return urlsplit(self.weaviate_url)

    @property
    def weaviate_port(self) -> int:
        """Weaviate's HTTP port."""
        return self.weaviate.port or (443 if self.weaviate_is_secure else 80)

    @property
    def weaviate_is_secure(self) -> bool:
        """True where Weaviate is reached by TLS, by HTTP and gRPC alike."""
        return self.weaviate.scheme == "https"

    @property
    def grpc_host(self) -> str:
        """The host of Weaviate's gRPC port."""
        return self.weaviate_grpc_host or self.weaviate.hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may show: passwords as they are written and as they are meant, longest first.

        One that is not written as a URL wants it is cut in pieces by who reads it, and quoted in pieces.
        """
        urls = (self.mongodb_url, self.weaviate_url)
        passwords = [found for url in urls for found in _USER_INFO.findall(url)]
        pieces = [piece for found in passwords for piece in _CUTS.split(found) if len(piece) >= MIN_PIECE]
        written = [self.weaviate_api_key, *passwords, *pieces]
        return tuple(sorted({*written, *map(unquote, written)} - {""}, key=len, reverse=True))
