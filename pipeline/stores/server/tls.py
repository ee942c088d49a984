"""TLS to Weaviate: which authorities are trusted, by HTTP, by gRPC and when we look whether it is there."""

from __future__ import annotations

import ssl
from functools import lru_cache

import grpc  # type: ignore[import-untyped]
import httpx
from weaviate import WeaviateClient

from pipeline.errors import ConfigurationError
from pipeline.given_files import read_given
from pipeline.stores.server.addresses import WEAVIATE_CA_SETTING, ServerAddresses

HTTP = "http/1.1"  # as TLS names them
GRPC = "h2"

_BEGIN = "BEGIN CERTIFICATE"


def tls_context(addresses: ServerAddresses, protocol: str) -> ssl.SSLContext:
    """A context for one protocol that trusts the given authority, or else the well-known ones."""
    return _context(_authority(addresses), protocol)


def grpc_credentials(addresses: ServerAddresses) -> grpc.ChannelCredentials | None:
    """The same for gRPC; None where no authority is given: gRPC has its own list of those well known."""
    authority = _authority(addresses)
    return grpc.ssl_channel_credentials(root_certificates=authority.encode()) if authority else None


def trust(client: WeaviateClient, addresses: ServerAddresses) -> None:
    """Make a client, not connected yet, trust the given authority by HTTP, too.

    It has no setting for this (to 4.24: `AdditionalConfig` has credentials for gRPC alone). `SSL_CERT_FILE`,
    which it heeds with `trust_env`, would hold for every server that this process asks, models' included,
    and the environment's proxies come with it. What is left is its private place for transports, meant for
    proxies, of which we use none.
    """
    if not _authority(addresses):
        return

    def transports(_colour: str) -> dict[str, httpx.HTTPTransport]:
        return {"https://": httpx.HTTPTransport(verify=tls_context(addresses, HTTP))}

    client._connection._make_mounts = transports  # type: ignore[method-assign,assignment]


def _authority(addresses: ServerAddresses) -> str:
    """The certificates of the given authority, PEM; empty where none is given."""
    path = addresses.weaviate_ca_file
    if path is None:
        return ""
    try:
        text = read_given(path)
        if _BEGIN not in text:
            raise ValueError(f"there is no '{_BEGIN}' in it")
        _context(text, HTTP)
    except (OSError, ValueError) as error:  # SSLError is an OSError, too
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigurationError(
            f"{WEAVIATE_CA_SETTING} names '{path}', which is not a certificate file: {reason}.",
            "Give the file of the certificate authority, in PEM.",
        ) from error
    return text


@lru_cache(maxsize=4)  # one a protocol: who connects changes it
def _context(authority: str, protocol: str) -> ssl.SSLContext:
    if authority:
        context = ssl.create_default_context(cadata=authority)
    else:
        context = httpx.create_ssl_context(trust_env=False)  # as the client does
    context.set_alpn_protocols([protocol])
    return context
