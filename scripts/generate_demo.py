"""Write the snapshot that `kubescript demo` runs on: the broken cluster of the tests, saved from a real API server, and
its metrics and logs, saved from a real Prometheus and Loki."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.kit.controlplane import fixture
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines.leaking import Leaking

OUT = Path(__file__).parent.parent / "src" / "kubescript" / "cli" / "demo.tar.gz"
KUBESCRIPT = Path(sys.executable).with_name("kubescript")


def main() -> None:
    """Start a control plane and the engines, load the fixture, save it all, pack it."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane() as plane:
        fixture.load(plane.kubeconfig)
        saved, config = Path(folder) / "demo", Path(folder) / "kubescript.toml"
        with Leaking(Path(folder), int(time.time())) as engines:
            urls = {"prometheus": engines.prometheus.url, "loki": engines.loki.url}
            config.write_text(
                "".join(f'[sources.{kind}]\nkind = "{kind}"\nurl = "{url}"\n' for kind, url in urls.items())
            )
            flags: list[str | Path] = ["--sources", "--kubeconfig", plane.kubeconfig, "--config", config]
            subprocess.run([KUBESCRIPT, "snapshot", saved, *flags], check=True)
        with tarfile.open(OUT, "w:gz") as archive:
            archive.add(saved, arcname=".", filter=_anonymous)
    print(f"{OUT}: {OUT.stat().st_size} bytes")


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """No user, and readable by all: it is part of the package."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry


if __name__ == "__main__":
    main()
