"""The addresses of the two servers; error messages show them without passwords."""

from __future__ import annotations

import re
from typing import Self

from pydantic import model_validator

from pipeline.errors import ConfigurationError
from pipeline.options import ServerOptions, is_server_address
from pipeline.redaction import without_password

MONGODB_FORM = "Give it as mongodb://USER:PASSWORD@HOST:PORT, with %XX for special characters."
_MONGODB_URL = re.compile(r"mongodb(\+srv)?://([^/?#@]*@)?[^/?#@]+([/?][^@]*)?")
"""An unescaped character would move a part of the password into the host, which drivers' errors quote."""
_DATABASE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class ServerAddresses(ServerOptions):
    """The options of both servers; values that cannot work raise `ConfigurationError`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not _MONGODB_URL.fullmatch(self.mongodb_url):
            raise ConfigurationError("ATHENA_MONGODB_URL cannot be used.", MONGODB_FORM)
        if not is_server_address(self.weaviate_url):
            raise ConfigurationError(
                f"ATHENA_WEAVIATE_URL cannot be '{without_password(self.weaviate_url)}'.",
                "Give it with its scheme and port, such as http://localhost:8080.",
            )
        if not _DATABASE.fullmatch(self.mongodb_database):
            raise ConfigurationError(
                f"ATHENA_MONGODB_DATABASE cannot be '{self.mongodb_database}': Weaviate's collections are "
                "named after it.",
                "Use letters, digits and _, beginning with a letter.",
            )
        return self

    @property
    def weaviate_prefix(self) -> str:
        """The beginning of the names of Weaviate's collections: MongoDB's database, with a capital."""
        return self.mongodb_database[0].upper() + self.mongodb_database[1:]
