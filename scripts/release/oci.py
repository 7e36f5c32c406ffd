"""An OCI layout: a folder with the blobs of an image for several architectures, the same bytes from the same files."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Descriptor", "Layer", "Layout", "Source", "blob", "read", "read_index"]

Descriptor = dict[str, Any]
"""How a document of an image names a blob: media type, digest and size in bytes."""

INDEX: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_LEVEL: Final = 6
"""Of gzip; 9 takes twice as long and saves 1 %."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder whose files a layer has."""

    folder: Path
    owner: int = 0
    """User and group id of all its files."""
    target: str = ""
    """The folder of the image in which they are; the root when it is empty."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer that is among the blobs."""

    descriptor: Descriptor
    diff_id: str
    """Digest of the uncompressed archive."""


class Layout:
    """A new layout in a folder; `time` is that of all files, in seconds since 1970."""

    def __init__(self, folder: Path, time: int) -> None:
        self.folder = folder
        self.time = time
        self._blobs = folder / "blobs" / "sha256"
        self._blobs.mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def add_layer(self, source: Source) -> Layer:
        """Packs a folder."""
        archive, packed = self.folder / "layer.tar", self.folder / "layer.tar.gz"
        with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
            for path in _walk(source.folder):
                self._add_file(tar, path, source)
        with archive.open("rb") as file, packed.open("wb") as target:
            diff_id = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            with gzip.GzipFile("", "wb", _LEVEL, target, mtime=0) as compressor:
                shutil.copyfileobj(file, compressor)
        archive.unlink()
        with packed.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        packed.rename(self._blobs / digest)
        return Layer(self._describe(LAYER, digest), f"sha256:{diff_id}")

    def add_image(self, architecture: str, layers: list[Layer], config: Mapping[str, Any], created: str) -> Descriptor:
        """Adds the image of an architecture; `config` is what a container starts with, `created` an RFC 3339 time."""
        document = {
            "architecture": architecture,
            "os": "linux",
            "created": created,
            "config": dict(config),
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._add_document(CONFIG, document),
            "layers": [layer.descriptor for layer in layers],
        }
        platform = {"architecture": architecture, "os": "linux"}
        return {**self._add_document(MANIFEST, manifest), "platform": platform}

    def finish(self, images: list[Descriptor], annotations: Mapping[str, str]) -> str:
        """Adds the index of these images and names it as the layout's only one. Returns its digest."""
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": images, "annotations": dict(annotations)}
        descriptor = self._add_document(INDEX, index)
        names = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor]}
        (self.folder / "index.json").write_bytes(_encode(names))
        digest: str = descriptor["digest"]
        return digest

    def _add_file(self, tar: tarfile.TarFile, path: Path, source: Source) -> None:
        name = Path(source.target) / path.relative_to(source.folder)
        member = tar.gettarinfo(path, str(name))
        member.mtime = self.time
        member.uid = member.gid = source.owner
        member.uname = member.gname = ""
        if member.isreg():
            with path.open("rb") as file:
                tar.addfile(member, file)
        else:
            tar.addfile(member)

    def _add_document(self, media_type: str, document: object) -> Descriptor:
        data = _encode(document)
        digest = hashlib.sha256(data).hexdigest()
        (self._blobs / digest).write_bytes(data)
        return self._describe(media_type, digest)

    def _describe(self, media_type: str, digest: str) -> Descriptor:
        size = (self._blobs / digest).stat().st_size
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}


def _walk(folder: Path) -> Iterator[Path]:
    """Yields all that is in a folder, a folder before its contents, ordered by name."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def _encode(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def read(layout: Path, descriptor: Descriptor) -> Any:
    """Returns a document of a layout."""
    return json.loads(blob(layout, descriptor).read_bytes())


def read_index(layout: Path) -> Descriptor:
    """Returns the descriptor of the one index that a layout names."""
    (descriptor,) = json.loads((layout / "index.json").read_text())["manifests"]
    index: Descriptor = descriptor
    return index


def blob(layout: Path, descriptor: Descriptor) -> Path:
    """Returns the file of a blob."""
    digest: str = descriptor["digest"]
    algorithm, _, name = digest.partition(":")
    return layout / "blobs" / algorithm / name
