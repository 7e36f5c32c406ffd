"""Wheels and sdists of a release."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import kubescript
from tests.kit import paths

VERSION = kubescript.__version__


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository that a release is made from, in another folder and without its history."""
    folder = tmp_path_factory.mktemp("elsewhere") / "clone"
    ignored = shutil.ignore_patterns("__pycache__", ".venv")
    for name in ("src", "scripts", "packaging", "sdk_docs"):
        shutil.copytree(paths.ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore"):
        shutil.copy(paths.ROOT / name, folder / name)
    return folder


def hatch(project: Path, target: Path) -> None:
    """Builds the sdist and, without it, the wheel of a project."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)


def test_two_builds_in_two_folders_have_the_same_bytes(dist: Path, clone: Path, tmp_path: Path) -> None:
    """A wheel has the same bytes whether it is built from the sdist, as those of a release, or from the sources."""
    hatch(clone, tmp_path)
    hatch(clone / "src" / "kubescript_safety", tmp_path)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(built) == 4
    for name, content in built.items():
        assert content == (dist / name).read_bytes(), name


def test_an_sdist_holds_what_a_build_needs_and_no_tests(dist: Path) -> None:
    """Tests need the repository, and are four fifths of it."""
    with tarfile.open(dist / f"kubescript-{VERSION}.tar.gz") as archive:
        names = [name.split("/", 1)[1] for name in archive.getnames()]
    assert {name for name in names if not name.startswith(("src/", "sdk_docs/"))} == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "constraints.txt",
        "pyproject.toml",
        "scripts/hatch_build.py",
    }
    assert {name.split("/")[1] for name in names if name.startswith("src/")} == {
        "kubescript",
        "kubescript_masking",
        "kubescript_sandbox",
    }


def test_links_of_the_readme_work_on_a_package_index(dist: Path) -> None:
    """A package index shows the README alone; its links lead to the files of the version at the code host."""
    with tarfile.open(dist / f"kubescript-{VERSION}.tar.gz") as archive:
        member = archive.extractfile(f"kubescript-{VERSION}/PKG-INFO")
        assert member is not None
        text = member.read().decode()
    assert f"/blob/v{VERSION}/docs/security.md)" in text
    assert "](docs/" not in text


def test_a_version_without_a_text_in_the_changelog_is_not_released(clone: Path, tmp_path: Path) -> None:
    """The refusal says what to write, and with that the release goes on."""
    main = clone / "src" / "kubescript" / "__init__.py"
    main.write_text(main.read_text().replace(f'"{VERSION}"', '"9.8.7"'))
    command = [sys.executable, "-m", "scripts.release", str(tmp_path), "changelog"]
    environment = {**os.environ, "PYTHONPATH": f"{clone / 'src'}:{clone}:{paths.ROOT}", "KUBESCRIPT_DIRTY": "1"}
    refused = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "CHANGELOG.md has no text under `## 9.8.7 (DATE)`" in refused.stderr
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(
        changelog.read_text().replace("## Unreleased\n", "## 9.8.7 (2027-01-02)\n\nFaster.\n\n## Unreleased\n", 1)
    )
    subprocess.run(command, cwd=clone, env=environment, check=True)
    assert (tmp_path / "notes.md").read_text() == "Faster.\n"


def test_a_release_is_not_made_of_files_that_its_commit_does_not_have(clone: Path, tmp_path: Path) -> None:
    """A key that lies in a package is named before anything is built; the commit alone is built."""
    me = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    for git in (["init", "--quiet"], ["add", "--all"], [*me, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *git], cwd=clone, check=True)
    key = clone / "src" / "kubescript" / "cosign.key"
    key.touch()
    environment = {name: value for name, value in os.environ.items() if name != "KUBESCRIPT_DIRTY"}
    environment |= {"PYTHONPATH": str(paths.ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    make = [sys.executable, "-m", "scripts.release", str(tmp_path / "dist"), "changelog"]
    done = subprocess.run(make, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "?? src/kubescript/cosign.key" in done.stderr
    assert not (tmp_path / "dist").exists()
    key.unlink()
    subprocess.run(make, cwd=clone, env=environment, check=True)
