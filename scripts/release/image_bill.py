"""The bill of the image, as CycloneDX: Debian's packages and Python's distributions, read from the layers themselves.

One bill is for all architectures, since the index that holds them is what is signed; a package of Debian names its
architecture.
"""

from __future__ import annotations

import datetime
import email.message
import email.parser
import re
import shlex
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from scripts.release import image, oci, publication

__all__ = ["NAME", "make"]

NAME: Final = "image.cdx.json"
_DEBIAN: Final = re.compile(r"var/lib/dpkg/status\.d/(?!.*\.md5sums$)[^/]+")
_PYTHON: Final = re.compile(r"usr/lib/python3/dist-packages/[^/]+\.dist-info/METADATA")
_SYSTEM: Final = "usr/lib/os-release"


def make(published: publication.Publication, dist: Path) -> None:
    """Writes the bill of the layout in `dist`. Raises ValueError when it is no valid CycloneDX."""
    layout = dist / image.FOLDER
    index = oci.read_index(layout)
    found: dict[str, Component] = {}
    for manifest in oci.read(layout, index)["manifests"]:
        for layer in oci.read(layout, manifest)["layers"]:
            found |= {str(component.purl): component for component in _read(oci.blob(layout, layer))}
    labels = oci.read(layout, index)["annotations"]
    bill = Bom(components=found.values())
    whole = bill.metadata.component = _describe(published, index["digest"])
    bill.register_dependency(whole, found.values())
    bill.metadata.timestamp = datetime.datetime.fromisoformat(labels["org.opencontainers.image.created"])
    bill.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, str(whole.purl))
    text = JsonV1Dot6(bill).output_as_string(indent=2)
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        raise ValueError(f"{NAME} is not valid: {error}")
    (dist / NAME).write_text(f"{text}\n", encoding="utf-8")


def _describe(published: publication.Publication, digest: str) -> Component:
    """The image itself."""
    qualifiers = {"repository_url": published.image, "tag": published.version}
    purl = PackageURL("oci", None, published.image.rpartition("/")[2], digest, qualifiers)
    return _component(purl, ComponentType.CONTAINER, "Apache-2.0")


def _read(layer: Path) -> Iterator[Component]:
    """Yields what the records in a layer say."""
    with tarfile.open(layer) as archive:
        members = {member.name: member for member in archive if member.isreg()}
        system = _read_system(archive, members)
        for name, member in members.items():
            if _DEBIAN.fullmatch(name):
                yield _package(_parse(archive, member), system)
            elif _PYTHON.fullmatch(name):
                yield _distribution(_parse(archive, member))


def _read_system(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> dict[str, str]:
    """What the layer's os-release says; empty in a layer that has none."""
    file = archive.extractfile(members[_SYSTEM]) if _SYSTEM in members else None
    text = file.read().decode() if file else ""
    return dict(line.split("=", 1) for line in shlex.split(text))


def _parse(archive: tarfile.TarFile, member: tarfile.TarInfo) -> email.message.Message:
    """The fields of a record."""
    file = archive.extractfile(member)
    assert file is not None
    return email.parser.BytesHeaderParser().parse(file)


def _package(fields: email.message.Message, system: dict[str, str]) -> Component:
    qualifiers = {"arch": fields["Architecture"], "distro": f"{system['ID']}-{system['VERSION_ID']}"}
    # Advisories name source packages: `Source: NAME`, or `NAME (VERSION)` when it has another version.
    source = re.fullmatch(r"(\S+)(?: \((\S+)\))?", fields["Source"] or "")
    if source:
        qualifiers["upstream"] = "@".join(filter(None, source.groups()))
    return _component(PackageURL("deb", system["ID"], fields["Package"], fields["Version"], qualifiers))


def _distribution(fields: email.message.Message) -> Component:
    purl = PackageURL("pypi", None, canonicalize_name(fields["Name"]), fields["Version"])
    return _component(purl, expression=fields["License-Expression"])


def _component(
    purl: PackageURL, kind: ComponentType = ComponentType.LIBRARY, expression: str | None = None
) -> Component:
    licenses = [LicenseFactory().make_with_expression(expression)] if expression else []
    return Component(name=purl.name, version=purl.version, type=kind, purl=purl, bom_ref=str(purl), licenses=licenses)
