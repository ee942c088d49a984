"""Certificate authorities of a test's own, and certificates for servers on loopback, by `openssl`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

NEW = [
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "2",
]


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key: files in PEM."""

    file: Path
    key: Path


class Authority(Certificate):
    """Signs certificates."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "authority.pem", folder / "authority.key")
        _make(self, f"Authority {folder.name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def sign(self, name: str, *, address: str = "127.0.0.1") -> Certificate:
        """A certificate for a server at an IP address, in files of this name."""
        made = Certificate(self.file.with_name(f"{name}.pem"), self.file.with_name(f"{name}.key"))
        host = ["-addext", f"subjectAltName=IP:{address}", "-addext", "basicConstraints=critical,CA:FALSE"]
        _make(made, name, "-CA", str(self.file), "-CAkey", str(self.key), *host)
        return made


def _make(certificate: Certificate, name: str, *options: str) -> None:
    files = ["-out", str(certificate.file), "-keyout", str(certificate.key), "-subj", f"/CN={name}"]
    subprocess.run([*NEW, *files, *options], check=True, capture_output=True)
