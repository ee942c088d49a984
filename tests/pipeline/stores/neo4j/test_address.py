"""Where Neo4j is: taken apart, checked, and shown without a password."""

from __future__ import annotations

import pytest

from pipeline.errors import ConfigurationError
from pipeline.redaction import redacted
from pipeline.stores.neo4j.address import GraphAddress

SECRET = "l0ng-s3cret"


def test_user_and_password_are_the_urls_or_those_of_their_settings() -> None:
    given = GraphAddress(neo4j_url="bolt://graph:7687", neo4j_user="ada", neo4j_password=SECRET)
    assert (given.url, given.user, given.password) == ("bolt://graph:7687", "ada", SECRET)
    written = GraphAddress(neo4j_url="neo4j+s://bob:p%40ss%2Fw0rd@graph", neo4j_password=SECRET)
    assert (written.url, written.user, written.password) == ("neo4j+s://graph", "bob", "p@ss/w0rd")
    assert GraphAddress(neo4j_url="bolt://graph").user == "neo4j"


def test_neither_is_shown() -> None:
    address = GraphAddress(neo4j_url=f"bolt://ada:{SECRET}@graph:7687")
    assert address.server == "Neo4j at 'bolt://graph:7687'"
    assert SECRET not in repr(address)
    assert SECRET not in redacted(f"it said {SECRET}")
    other = GraphAddress(neo4j_url="bolt://graph", neo4j_password="an0ther-s3cret")
    assert "an0ther" not in redacted(f"it said {other.password}") + repr(other)


@pytest.mark.parametrize(
    "url", ["graph:7687", "http://graph", "bolt://", "bolt://graph:seven", "bolt://u:1/pa/ss@h"]
)
def test_what_could_never_be_reached_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="ATHENA_NEO4J_URL cannot be") as refused:
        GraphAddress(neo4j_url=url)
    assert "pa/ss" not in str(refused.value)
