"""`python scripts/image_root.py FOLDER` makes the layers of the image: what ../Containerfile copies.

`base` holds Python and its libraries as Debian packages them and kubescript's dependencies as constraints.txt pins
them; `kubescript` holds this repository's kubescript, and `home` what its user has. There is no shell, no package
manager and no compiler.

Nobody has to be root, and nothing is installed; the machine must be a Debian or Ubuntu, and the Python that runs this
must have pip and hatchling.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts import debian

__all__ = ["USER", "make_base", "make_layers", "requirements"]

REPOSITORY: Final = Path(__file__).resolve().parent.parent
USER: Final = 65532
HOME: Final = "home/kubescript"
EXTRAS: Final = ("cel", "gke", "otel", "postgres")

PACKAGES: Final = ("python3", "libseccomp2", "libstdc++6", "ca-certificates")
LEFT_OUT: Final = re.compile(
    r"(?:debconf|dpkg|gcc-\d+-base|libacl1|libcom-err2|libdb5\.3|libdebconf.*|libgssapi.*|libk5crypto3|libkeyutils1|"
    r"libkrb5.*|libmd0|libncursesw6|libnsl2|libpcre2.*|libreadline8|libselinux1|libtinfo6|libtirpc.*|openssl|perl.*|"
    r"readline-common|tar)(?:t64)?_"
)
"""Packages that Debian's Python depends on, and kubescript does not."""
UNUSED: Final = (
    "usr/sbin/*", "usr/bin/pdb*", "usr/share/doc", "usr/share/lintian", "usr/share/man", "usr/share/python3",
    "usr/share/ca-certificates",
    "usr/lib/python3*/{__phello__,distutils,ensurepip,idlelib,lib2to3,pydoc_data,tkinter,turtledemo}",
    "usr/lib/python3*/lib-dynload/{_curses,_curses_panel,_dbm,nis,readline}.*",
    "usr/lib/python3*/config-*/*.a", "usr/bin/{pydoc,pygettext,py3}*", "usr/lib/*-linux-gnu/{gconv,audit}",
    "usr/lib/python3/dist-packages/bin",
    # The asynchronous half of the official client and what it alone needs; extensions of CEL that no rule may use.
    "usr/lib/python3/dist-packages/kubernetes/aio",
    "usr/lib/python3/dist-packages/{aiohappyeyeballs,aiohttp,aiohttp_retry,aiosignal,frozenlist,multidict,propcache,yarl}",
    "usr/lib/python3/dist-packages/sqlalchemy/testing",
    "usr/lib/python3/dist-packages/cel_expr_python/ext/ext_{bindings,encoders,math,proto}.*",
)  # fmt: skip
FILES: Final = {
    "etc/passwd": f"root:x:0:0:root:/:/nonexistent\nkubescript:x:{USER}:{USER}::/{HOME}:/nonexistent\n",
    "etc/group": f"root:x:0:\nkubescript:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "usr/bin/kubescript": "#!/usr/bin/python3\nfrom kubescript.cli import main\n\nmain.main()\n",
}
COMPILE_RULES: Final = """
import pathlib, sys

sys.path.insert(0, sys.argv[1])
from kubescript_masking.engine import masker
from kubescript_masking.rules import shapes

masker.Masker(shapes.load_shipped(), directory=pathlib.Path(sys.argv[2])).scanner.prepare()
"""


def make_base(root: Path) -> None:
    """Everything but kubescript itself, in a new folder: the part that changes seldom and takes a minute."""
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    # Runtimes mount these; on a read-only root they cannot make them.
    for name in ("dev", "etc", "proc", "run", "sys", "tmp", "var/tmp", HOME):
        (root / name).mkdir(parents=True)
    for name in ("tmp", "var/tmp"):  # what is mounted there gets the same rights
        (root / name).chmod(0o1777)
    debian.unpack(PACKAGES, root, left_out=LEFT_OUT, complete=True)
    _certificates(root)
    for name, text in FILES.items():
        (root / name).write_text(text)
    (root / "usr/bin/kubescript").chmod(0o755)
    _install_dependencies(root)
    for pattern in UNUSED:
        for path in _matching(root, pattern):
            _remove(path)
    _compile(root, root, *root.glob("usr/lib/python3*"))


def _remove(path: Path) -> None:
    """Removes a file, a link, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def make_layers(base: Path, layers: Path) -> None:
    """`kubescript` and `home` in `layers`: this repository's kubescript with its bytecode, and the masking rules as
    compiled for this processor."""
    packages = layers / "kubescript/usr/lib/python3/dist-packages"
    with tempfile.TemporaryDirectory() as folder:
        wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
        subprocess.run([*wheel, folder, str(REPOSITORY)], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            archive.extractall(packages)
    _compile(base, layers / "kubescript", packages)
    for name in (".kube", ".local/state"):  # a new volume gets the owner of the folder that it covers
        (layers / "home" / name).mkdir(parents=True)
    _run(base, [*_python(base), "-c", COMPILE_RULES, str(packages), str(layers / "home/.cache/kubescript/scanner")])


def _certificates(root: Path) -> None:
    """The public authorities, in the file that the package's own script would write."""
    found = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    target = root / "etc/ssl/certs/ca-certificates.crt"
    target.parent.mkdir(parents=True, exist_ok=True)
    # In the order of their names, as that script does: the same bytes each time.
    texts = [path.read_text() for path in found]
    target.write_text("".join(texts))


def requirements() -> list[str]:
    """What kubescript and its extras depend on, in pip's words."""
    text = (REPOSITORY / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    found = list(project["dependencies"])
    for name in EXTRAS:
        found += project["optional-dependencies"][name]
    return found


def _install_dependencies(root: Path) -> None:
    import pip

    install = [
        *_python(root),
        str(Path(pip.__file__).parent),
        "install",
        "--quiet",
        "--no-compile",
        "--only-binary=:all:",
    ]
    options = [f"--constraint={REPOSITORY / 'constraints.txt'}", f"--target={root / 'usr/lib/python3/dist-packages'}"]
    _run(root, [*install, *options, *requirements()])


def _compile(root: Path, layer: Path, *folders: Path) -> None:
    """Bytecode that is used whatever the times of the files: a layer of an image need not keep them."""
    options = ["-m", "compileall", "-qq", "-j0", "--invalidation-mode=unchecked-hash", "-s", str(layer), "-p", "/"]
    command = [*_python(root), *options, *map(str, folders)]
    _run(root, command)


def _python(root: Path) -> list[str]:
    """The command of the image's own Python, run by its own loader with its own libraries."""
    loader = next(root.glob("usr/lib/*-linux-gnu*/ld-linux-*.so.*"))
    return [str(loader), "--library-path", str(loader.parent), str(root / "usr/bin/python3"), "-s"]


def _run(root: Path, command: list[str]) -> None:
    environment = {
        **os.environ,
        "PYTHONHOME": str(root / "usr"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }
    environment.pop("PYTHONPATH", None)
    subprocess.run(command, env=environment, check=True)


def _matching(root: Path, pattern: str) -> list[Path]:
    """Paths that a shell's pattern with at most one {a,b} names."""
    before, _, rest = pattern.partition("{")
    names, _, after = rest.partition("}")
    found: list[Path] = []
    # Without braces, the one name is empty, and so is what follows it.
    for name in names.split(","):
        one = f"{before}{name}{after}"
        found += root.glob(one)
    return found


if __name__ == "__main__":
    target = Path(sys.argv[1]).absolute()
    os.umask(0o022)  # the image's user is not the one who makes it
    make_base(target / "base")
    make_layers(target / "base", target)
