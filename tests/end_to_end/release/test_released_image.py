"""The image of a release: what it holds, who signed it, and that it runs where it was pulled by its digest."""

from __future__ import annotations

import base64
import csv
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from packageurl import PackageURL
from packaging.utils import canonicalize_name

import kubescript
from scripts import image_root
from scripts.release import image, oci, publication, signature, tools
from tests.kit import containers, debian, pages

OTHERS: Final = tuple(name for name in image_root.ARCHITECTURES if name != image_root.OWN)
"""The architectures that this machine has not."""
PACKAGES: Final = "usr/lib/python3/dist-packages"
OURS: Final = re.compile(r"usr/bin/kubescript|.*/__pycache__/.*")
"""What no package has put below /usr."""
START: Final = """
import pathlib
import cel_expr_python, cryptography.x509, google.auth, isal.igzip, kubescript, opentelemetry.sdk, psycopg, re2
from kubescript.cli import main
from kubescript import app, transports
from kubescript_masking.engine import masker
from kubescript_masking.rules import shapes

folder = pathlib.Path.home() / ".cache/kubescript/scanner"
before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
masker.Masker(shapes.load_shipped(), directory=folder).scanner.prepare()
assert len(before) == 2 and before == {file: file.stat().st_mtime_ns for file in folder.iterdir()}
print(kubescript.__version__)
"""
KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: a, user: {token: a}}]
"""


@pytest.fixture(scope="module")
def pushed(dist: Path, empty_registry: str) -> str:
    """The image in a registry, by its digest."""
    name = f"{empty_registry}/team/kubescript"
    signature.load_image(dist / image.FOLDER, f"{name}:{kubescript.__version__}")
    return f"{name}@{oci.read_index(dist / image.FOLDER)['digest']}"


@pytest.fixture(scope="module")
def manifests(dist: Path) -> dict[str, dict[str, Any]]:
    """Architecture -> the manifest of its image."""
    layout = dist / image.FOLDER
    found = oci.read(layout, oci.read_index(layout))["manifests"]
    return {each["platform"]["architecture"]: oci.read(layout, each) for each in found}


@pytest.fixture(scope="module")
def roots(
    dist: Path, manifests: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Architecture -> a folder with all files of its image."""
    folder = tmp_path_factory.mktemp("roots")
    for architecture, manifest in manifests.items():
        for layer in manifest["layers"]:
            with tarfile.open(oci.blob(dist / image.FOLDER, layer)) as archive:
                archive.extractall(folder / architecture, filter="tar")
    return {architecture: folder / architecture for architecture in manifests}


@pytest.fixture(scope="module")
def bill(dist: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((dist / "image.cdx.json").read_text())
    return document


def run_tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(tools.program(name)), *arguments], capture_output=True, text=True)


def verify(dist: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Verifies an image by the key that is in `dist`."""
    return run_tool("cosign", "verify", "--key", str(dist / "cosign.pub"), "--insecure-ignore-tlog", name)


@pytest.fixture(scope="module")
def pulled(pushed: str) -> Iterator[tuple[containers.Podman, str]]:
    """Podman, and the image that it pulled by its digest."""
    if os.geteuid() != 0:
        pytest.skip("NO IMAGE IS RUN: only root can use podman's runc")
    with containers.Podman() as podman:
        yield podman, podman.pull(pushed)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("--version", kubescript.__version__),
        ("doctor --offline", "every layer of the sandbox holds"),
        ("demo", "3 API calls"),
    ],
)
def test_the_image_that_was_pulled_by_its_digest_answers(
    pulled: tuple[containers.Podman, str], command: str, answer: str
) -> None:
    """As a user without any right, without network and without a disk."""
    podman, name = pulled
    done = podman("run", *containers.CONFINED, "--network=none", name, *command.split())
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout


def test_doctor_says_how_a_client_starts_the_image(pulled: tuple[containers.Podman, str], tmp_path: Path) -> None:
    """By the image's name and no path of the container; for a kubeconfig that only its owner may read, it says what
    to add, and with the right user it is read."""
    podman, name = pulled
    published = publication.read()
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    file.chmod(0o600)
    options = ("--network=none", f"--volume={file}:/home/kubescript/.kube/config:ro")
    denied = podman("run", *containers.CONFINED, *options, name, "doctor", "--offline")
    assert "--userns keep-id:uid=65532,gid=65532" in denied.stdout
    assert "claude mcp add" not in denied.stdout
    os.chown(file, image_root.USER, image_root.USER)
    read = podman("run", *containers.CONFINED, *options, name, "doctor", "--offline")
    assert "cannot read" not in read.stdout
    assert f"/home/kubescript/.kube/config:ro {published.image}:{published.version} --toolsets code" in read.stdout
    assert "claude mcp add --scope user kubescript -- docker run --rm --interactive" in read.stdout


def test_each_architecture_says_where_it_comes_from(dist: Path, manifests: dict[str, dict[str, Any]]) -> None:
    """The labels name the version, the code and the server in the MCP registry, which looks for that label."""
    published = publication.read()
    assert set(manifests) == set(image_root.ARCHITECTURES)
    for manifest in manifests.values():
        config = oci.read(dist / image.FOLDER, manifest["config"])["config"]
        labels = config["Labels"]
        assert labels["org.opencontainers.image.title"] == "kubescript"
        assert labels["org.opencontainers.image.version"] == published.version
        assert labels["org.opencontainers.image.source"] == published.repository
        assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
        assert labels["io.modelcontextprotocol.server.name"] == published.mcp_name
        assert (config["User"], config["Entrypoint"]) == ("65532:65532", ["/usr/bin/kubescript"])


def test_an_image_is_the_same_each_time(dist: Path, tmp_path: Path) -> None:
    """Its digest depends on its contents alone, so that anyone can build it again and compare."""
    (wheel,) = dist.glob("kubescript-*.whl")
    (tmp_path / wheel.name).symlink_to(wheel)
    image.make(publication.read(), tmp_path)
    assert oci.read_index(tmp_path / image.FOLDER)["digest"] == oci.read_index(dist / image.FOLDER)["digest"]


def test_signature_and_bill_verify_by_the_commands_of_the_page(
    dist: Path, bill: dict[str, Any], pushed: str, tmp_path: Path
) -> None:
    """The key of the release is enough; the bill that it vouches for is the one beside the image."""
    (block, *_) = pages.commands("install.md", "In a container")
    script = block.replace("REGISTRY/kubescript@sha256:DIGEST", pushed).partition("docker pull")[0]
    shutil.copy(dist / "cosign.pub", tmp_path)
    path = f"{tools.program('cosign').parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    statement = json.loads(base64.b64decode(json.loads((tmp_path / "bill.json").read_text())["payload"]))
    assert statement["predicate"] == bill
    assert statement["subject"][0]["digest"]["sha256"] == pushed.rpartition(":")[2]


def test_another_image_does_not_verify_by_this_signature(dist: Path, pushed: str) -> None:
    """An image that lacks one architecture has another digest; the signature, put beside it, does not fit."""
    name, _, digest = pushed.partition("@")
    changed = run_tool("crane", "index", "filter", "--platform=linux/amd64", pushed, "--tag", f"{name}:changed")
    assert changed.returncode == 0, changed.stderr
    other = run_tool("crane", "digest", f"{name}:changed").stdout.strip()
    assert other not in ("", digest)
    tag = f"{name}:{digest.replace(':', '-')}"
    assert run_tool("crane", "tag", tag, other.replace(":", "-")).returncode == 0
    refused = verify(dist, f"{name}@{other}")
    assert refused.returncode != 0
    assert "digest does not match" in refused.stderr
    assert verify(dist, pushed).returncode == 0


def test_another_layer_is_refused(dist: Path, manifests: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """A layer in the place of one that the image names is not taken; the right one is."""
    layout = shutil.copytree(dist / image.FOLDER, tmp_path / "image", copy_function=os.link)
    own, other = (oci.blob(layout, manifests[name]["layers"][-1]) for name in (image_root.OWN, *OTHERS))
    content = own.read_bytes()
    own.unlink()  # the release has the same file
    with containers.Podman() as podman:
        pull = ("pull", f"--signature-policy={podman.policy}", f"oci:{layout}")
        own.write_bytes(other.read_bytes())
        refused = podman(*pull)
        own.write_bytes(content)
        taken = podman(*pull)
    assert refused.returncode != 0
    assert "igest" in refused.stderr, refused.stderr
    assert taken.returncode == 0, taken.stderr


def test_the_bill_has_every_package(bill: dict[str, Any], roots: dict[str, Path]) -> None:
    """Each record of Debian and of Python is in it, and each file below /usr belongs to one that has a record."""
    purls = {PackageURL.from_string(component["purl"]) for component in bill["components"]}
    known = {(purl.type, purl.name, purl.version) for purl in purls}
    for root in roots.values():
        records = [path for path in (root / "var/lib/dpkg/status.d").iterdir() if path.suffix != ".md5sums"]
        installed = {("deb", record.name, field(record, "Version")) for record in records}
        for folder in (root / PACKAGES).glob("*.dist-info"):
            name = canonicalize_name(field(folder / "METADATA", "Name"))
            installed.add(("pypi", name, field(folder / "METADATA", "Version")))
        assert {name for _, name, _ in installed} >= {"libc6", "libseccomp2", "kubescript", "hyperscan"}
        assert installed <= known
        files = {str(path.relative_to(root)) for path in (root / "usr").rglob("*") if is_plain(path)}
        assert {name for name in files - read_owned(root) if not OURS.fullmatch(name)} == set()
    assert known - {("oci", "kubescript", purl.version) for purl in purls} <= installed


def is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def field(record: Path, name: str) -> str:
    """The value of a field of a package's record."""
    found = re.search(rf"^{name}: (.*)$", record.read_text(), re.MULTILINE)
    assert found, record
    return found[1]


def read_owned(root: Path) -> set[str]:
    """The files that the records of Debian's packages and of Python's distributions name."""
    sums = [file.read_text() for file in root.glob("var/lib/dpkg/status.d/*.md5sums")]
    names = re.findall(r"^\w+  (.*)$", "".join(sums), re.MULTILINE)
    # Some packages name /lib, which leads to /usr/lib.
    owned = {name if name.startswith("usr/") else f"usr/{name}" for name in names}
    for file in root.glob(f"{PACKAGES}/*.dist-info/RECORD"):
        with file.open() as rows:
            owned |= {f"{PACKAGES}/{row[0]}" for row in csv.reader(rows)}
    return owned


def test_the_image_for_another_processor_starts(roots: dict[str, Path]) -> None:
    """Its Python imports all that a server needs, and takes the masking rules that were compiled on this processor."""
    try:
        emulator = debian.unpacked("qemu", "qemu-user-static")
    except debian.Missing as error:
        pytest.skip(f"THE OTHER ARCHITECTURE IS NOT STARTED: {error}")
    (other,) = OTHERS
    root = roots[other]
    loader = next(root.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*"))
    qemu = emulator / f"usr/bin/qemu-{image_root.ARCHITECTURES[other]}-static"
    python = [str(qemu), str(loader), "--library-path", str(loader.parent), str(root / "usr/bin/python3"), "-s"]
    environment = {"PYTHONHOME": str(root / "usr"), "HOME": str(root / image_root.HOME)}
    done = subprocess.run([*python, "-c", START], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == kubescript.__version__
