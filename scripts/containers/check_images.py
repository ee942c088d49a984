"""Are the images of docker-compose.yml and the Dockerfile published, and the newest patches? Asks Docker Hub.

`python scripts/containers/check_images.py`: exit code 0 where all are, 1 where one is not, 2 without network.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

ROOT = Path(__file__).parents[2]
HUB = "https://hub.docker.com"
PAGE = 100
PAGES = 10
TIMEOUT_S = 20.0

SAFE_FROM = {
    "mongo": ((7, 0, 28), (8, 0, 17), (8, 2, 3)),  # CVE-2025-14847
    "python": ((3, 11, 14), (3, 12, 12)),  # CVE-2025-8194
}
"""By image, the first release of each line that closes a hole."""

_TAG = re.compile(r"(?P<prefix>\D*)(?P<version>\d+\.\d+\.\d+)(?P<suffix>[a-z-]*)")
_BASE = re.compile(r"^FROM (\S+)", re.MULTILINE)

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """One image by version; prefix and suffix are what some tags have around the number."""

    name: str
    prefix: str
    version: Version
    suffix: str = ""

    @property
    def repository(self) -> str:
        """Its path on Docker Hub."""
        return self.name if "/" in self.name else f"library/{self.name}"

    def tag(self, version: Version) -> str:
        """The tag of a version."""
        return self.prefix + ".".join(map(str, version)) + self.suffix

    @property
    def is_safe(self) -> bool:
        """False where its line has a release that closes a known hole, and this is an older one."""
        return all(
            self.version >= safe for safe in SAFE_FROM.get(self.name, ()) if safe[:2] == self.version[:2]
        )


def images_of(compose: str) -> list[Image]:
    """The published images that a compose file names; what it builds itself is none."""
    services = yaml.safe_load(compose)["services"].values()
    built = {service["image"] for service in services if "build" in service}
    named = sorted({service["image"] for service in services} - built)
    return [_image(*name.rsplit(":", 1)) for name in named]


def bases_of(dockerfile: str) -> list[Image]:
    """The published images that a Dockerfile builds on."""
    return [_image(*name.rsplit(":", 1)) for name in sorted({*_BASE.findall(dockerfile)})]


def problems(image: Image, client: httpx.Client) -> Iterator[str]:
    """What is wrong with an image, a line each."""
    if not image.is_safe:
        yield "has a known hole that a later patch release closes"
    published = _patches(image, client)
    if image.version not in published:
        yield "is not published"
    if newer := [version for version in published if version > image.version]:
        yield f"is not the newest patch release: {image.tag(max(newer))} is"


def _patches(image: Image, client: httpx.Client) -> set[Version]:
    """The published versions of the image's minor release."""
    wanted = f"{image.prefix}{image.version[0]}.{image.version[1]}."
    found: set[Version] = set()
    path = f"/v2/repositories/{image.repository}/tags"
    for page in range(1, PAGES + 1):
        answer = client.get(path, params={"name": wanted, "page_size": PAGE, "page": page})
        answer.raise_for_status()
        tags = answer.json()
        matches = (_TAG.fullmatch(tag["name"]) for tag in tags["results"])
        found |= {
            _version(match["version"])
            for match in matches
            if match and (match["prefix"], match["suffix"]) == (image.prefix, image.suffix)
        }
        if not tags.get("next"):
            break
    return {version for version in found if version[:2] == image.version[:2]}


def _image(name: str, tag: str) -> Image:
    match = _TAG.fullmatch(tag)
    if match is None:
        raise SystemExit(f"{name}:{tag} is not pinned by its version.")
    return Image(name, match["prefix"], _version(match["version"]), match["suffix"])


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def main() -> int:
    """Print a line an image; the exit code."""
    wrong = False
    images = images_of((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    images += bases_of((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with httpx.Client(base_url=HUB, timeout=TIMEOUT_S) as client:
        for image in images:
            try:
                found = list(problems(image, client))
            except httpx.HTTPError as error:
                print(f"Docker Hub cannot be asked ({error}): this check needs the network.", file=sys.stderr)
                return 2
            wrong = wrong or bool(found)
            print(f"{image.name}:{image.tag(image.version)}", "; ".join(found) or "ok")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
