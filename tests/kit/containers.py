"""Real containers for tests: podman and runc, out of Debian's packages, with an image store of their own.

Only root can use it. Nothing is installed, and what it leaves in memory and on disk goes with `close`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.kit import debian

__all__ = ["CONFINED", "REFUSED", "Podman"]

PACKAGES: Final = (
    "podman", "runc", "conmon", "golang-github-containers-common", "golang-github-containers-image",
)  # fmt: skip
CONFINED: Final = (
    "--rm", "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges",
    "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024",
)  # fmt: skip
"""How a container of ours runs: under the runtime's default seccomp profile, without any capability."""
REFUSED: Final = 125
"""What `podman run` ends with when no container was started."""
STORAGE: Final = """
[storage]
driver = ""
graphroot = {images}
runroot = {run}
[storage.options]
additionalimagestores = {others}
"""
CONFIGURATION: Final = """
[containers]
seccomp_profile = {seccomp}
[engine]
conmon_path = [{conmon}]
conmon_env_vars = [{path}, {libraries}]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
[engine.runtimes]
runc = [{runc}]
"""


class Podman:
    """One store of images; `with Podman() as podman: podman("run", …)`."""

    def __init__(self, images: Path | None = None, *others: Path) -> None:
        """`images` is the folder of a store that stays; `others` are stores to read from."""
        root = debian.unpacked("podman", *PACKAGES)
        libraries = ":".join(str(path) for path in sorted(root.glob("usr/lib/*-linux-gnu")))
        self.folder = Path(tempfile.mkdtemp(prefix="kubescript-podman-"))
        self.profile = root / "usr/share/containers/seccomp.json"
        """The default seccomp profile."""
        values = {
            "seccomp": self.profile,
            "conmon": root / "usr/bin/conmon",
            "runc": root / "usr/sbin/runc",
            "path": "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "libraries": f"LD_LIBRARY_PATH={libraries}",
            "images": images or self.folder / "images",
            "run": self.folder / "run",
            "others": [str(other) for other in others],
        }
        # What JSON writes is TOML as well.
        words = {key: json.dumps(it if isinstance(it, list) else str(it)) for key, it in values.items()}
        for name, text in {"containers.conf": CONFIGURATION, "storage.conf": STORAGE}.items():
            (self.folder / name).write_text(text.format_map(words))
        self.policy = root / "etc/containers/policy.json"
        """Which images may be pulled: all."""
        self.environment: Mapping[str, str] = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "LD_LIBRARY_PATH": libraries,
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
        }  # fmt: skip
        """What podman needs of it."""
        # In a namespace of its own, so that no mount is left when a test is killed.
        self.command = ["unshare", "--mount", str(root / "usr/bin/podman"), "--runtime=runc"]
        self.command.append(f"--tmpdir={self.folder / 'tmp'}")

    def __enter__(self) -> Podman:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def __call__(self, *arguments: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
        """Runs podman to its end, whatever it says."""
        return subprocess.run(
            [*self.command, *arguments], env=self.environment, capture_output=True, text=True, timeout=seconds
        )

    def build(self, folder: Path, *options: str) -> str:
        """The image that this folder's Containerfile makes."""
        options += ("--layers=false", "--quiet", f"--signature-policy={self.policy}")
        done = self("build", *options, f"--file={folder / 'Containerfile'}", str(folder))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def pull(self, image: str) -> str:
        """The id of an image of a registry on this machine, now in the store."""
        done = self("pull", "--quiet", "--tls-verify=false", f"--signature-policy={self.policy}", image)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """`podman run` with these arguments, until the block ends."""
        process = subprocess.Popen([*self.command, "run", *arguments], env=self.environment)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=60)
