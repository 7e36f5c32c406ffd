"""`python scripts/image_root.py FOLDER` makes the layers of the image: what ../Containerfile copies.

`base` holds Python and its libraries as Debian packages them and kubescript's dependencies as constraints.txt pins
them; `kubescript` holds this repository's kubescript, and `home` what its user has. There is no shell, no package
manager and no compiler. An image for another architecture is made without running any of its programs.

Nobody has to be root, and nothing is installed; the machine must be a Debian or Ubuntu, and the Python that runs this
must have pip and hatchling.
"""

from __future__ import annotations

import os
import platform
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

__all__ = ["ARCHITECTURES", "HOME", "OWN", "USER", "build_wheel", "make_base", "make_layers", "requirements"]

REPOSITORY: Final = Path(__file__).resolve().parent.parent
USER: Final = 65532
HOME: Final = "home/kubescript"
EXTRAS: Final = ("cel", "gke", "otel", "postgres")

ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Name of an architecture for Debian and in images -> its name for Linux and in wheels."""
OWN: Final = next((name for name, machine in ARCHITECTURES.items() if machine == platform.machine()), "")
"""The architecture of this machine; empty when there is no image for it."""
_GLIBC: Final = range(36, 4, -1)
"""Versions of glibc whose wheels are taken: Debian 12 has 2.36."""

PACKAGES: Final = ("base-files", "python3", "libseccomp2", "libstdc++6", "ca-certificates")
LEFT_OUT: Final = re.compile(
    r"(?:debconf|dpkg|gawk|libacl1|libcom-err2|libdb5\.3|libdebconf.*|libgssapi.*|libk5crypto3|"
    r"libkeyutils1|libkrb5.*|libmd0|libncursesw6|libnsl2|libpcre2.*|libreadline8|libselinux1|libtinfo6|libtirpc.*|mawk|openssl|"
    r"original-awk|perl.*|readline-common|tar)(?:t64)?_"
)
"""Packages that Debian's own depend on, and kubescript does not."""
UNUSED: Final = (
    # Licenses stay: who hands out the image must hand them out.
    "usr/share/doc/*/[!c]*", "usr/share/doc/*/c[!o]*",
    # Of base-files, what a system with users and a shell needs.
    "boot", "root", "etc/{default,dpkg,host.conf,issue,issue.net,profile.d,skel,update-motd.d}",
    "usr/{games,include,src}", "var/{backups,cache,local,lock,log,run,spool}", "var/lib/misc",
    "usr/share/{applications,base-files,binfmts,bug,ca-certificates,dict,doc-base,gcc,gdb}",
    "usr/share/{info,lintian,man,misc,pixmaps,python3}",
    "usr/sbin/*", "usr/bin/pdb*",
    "usr/lib/python3*/{__phello__,distutils,ensurepip,idlelib,lib2to3,pydoc_data,tkinter,turtledemo}",
    "usr/lib/python3*/lib-dynload/{_curses,_curses_panel,_dbm,nis,readline}.*",
    "usr/lib/python3*/config-*/*.a", "usr/bin/{pydoc,pygettext,py3}*", "usr/lib/*-linux-gnu/{gconv,audit}",
    "usr/lib/python3/dist-packages/{bin,include}",
    # The asynchronous half of the official client and what it alone needs; extensions of CEL that no rule may use.
    "usr/lib/python3/dist-packages/kubernetes/aio",
    "usr/lib/python3/dist-packages/{aiohappyeyeballs,aiohttp,aiohttp_retry,aiosignal,frozenlist,multidict,propcache,yarl}",
    "usr/lib/python3/dist-packages/{aiohappyeyeballs,aiohttp,aiohttp_retry,aiosignal,frozenlist,multidict}-*.dist-info",
    "usr/lib/python3/dist-packages/{propcache,yarl}-*.dist-info",
    "usr/lib/python3/dist-packages/sqlalchemy/testing",
    "usr/lib/python3/dist-packages/cel_expr_python/ext/ext_{bindings,encoders,math,proto}.*",
)  # fmt: skip
FILES: Final = {
    "etc/passwd": f"root:x:0:0:root:/:/nonexistent\nkubescript:x:{USER}:{USER}::/{HOME}:/nonexistent\n",
    "etc/group": f"root:x:0:\nkubescript:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "usr/bin/kubescript": "#!/usr/bin/python3 -I\nfrom kubescript.cli import main\n\nmain.main()\n",
}
COMPILE_RULES: Final = """
import pathlib, platform, sys

# Hyperscan's tables are the same bytes for each of the architectures, and only their names differ. Where that is no
# longer so, the image's processor refuses them and compiles its own.
platform.machine = lambda: sys.argv[3]
sys.path.insert(0, sys.argv[1])
from kubescript_masking.engine import masker
from kubescript_masking.rules import shapes

masker.Masker(shapes.load_shipped(), directory=pathlib.Path(sys.argv[2])).scanner.prepare()
"""


def make_base(root: Path, architecture: str = OWN, tools: Path | None = None) -> None:
    """Everything but kubescript itself, in a new folder: the part that changes seldom and takes a minute.

    `tools` is such a folder of this machine's architecture, whose Python is used; None when this is one itself.
    """
    tools = tools or root
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    # Runtimes mount these; on a read-only root they cannot make them.
    for name in ("dev", "etc", "proc", "run", "sys", "tmp", "var/tmp", HOME):
        (root / name).mkdir(parents=True)
    for name in ("tmp", "var/tmp"):  # what is mounted there gets the same rights
        (root / name).chmod(0o1777)
    debian.unpack(PACKAGES, root, left_out=LEFT_OUT, complete=architecture)
    _certificates(root)
    for name, text in FILES.items():
        (root / name).write_text(text)
    (root / "usr/bin/kubescript").chmod(0o755)
    _install_dependencies(root, architecture, tools)
    for pattern in UNUSED:
        for path in _matching(root, pattern):
            _remove(path)
    _compile(tools, root, *root.glob("usr/lib/python3*"))


def _remove(path: Path) -> None:
    """Removes a file, a link, or a folder with all that is in it; a link may have led to the same one before."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def build_wheel(folder: Path) -> Path:
    """Builds the wheel of this repository's kubescript into a folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(REPOSITORY)], check=True)
    return next(folder.glob("kubescript-*.whl"))


def make_layers(wheel: Path, tools: Path, layers: Path, architecture: str = OWN) -> None:
    """`kubescript` and `home` in `layers`: what is in the wheel with its bytecode, and the compiled masking rules.

    `tools` is a base of this machine's architecture.
    """
    packages = layers / "kubescript/usr/lib/python3/dist-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    _compile(tools, layers / "kubescript", packages)
    for name in (".kube", ".local/state"):  # a new volume gets the owner of the folder that it covers
        (layers / "home" / name).mkdir(parents=True)
    arguments = [str(packages), str(layers / "home/.cache/kubescript/scanner"), ARCHITECTURES[architecture]]
    _run(tools, [*_python(tools), "-c", COMPILE_RULES, *arguments])


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


def _install_dependencies(root: Path, architecture: str, tools: Path) -> None:
    """Unpacks the wheels of an architecture, whichever this machine has."""
    import pip

    machine = ARCHITECTURES[architecture]
    install = [*_python(tools), str(Path(pip.__file__).parent), "install", "--quiet", "--no-compile"]
    platforms = [f"--platform=manylinux_2_{version}_{machine}" for version in _GLIBC]
    platforms.append(f"--platform=manylinux2014_{machine}")
    options = [*platforms, "--only-binary=:all:", f"--constraint={REPOSITORY / 'constraints.txt'}"]
    options.append(f"--target={root / 'usr/lib/python3/dist-packages'}")
    _run(tools, [*install, *options, *requirements()])


def _compile(tools: Path, layer: Path, *folders: Path) -> None:
    """Bytecode that is used whatever the times of the files: a layer of an image need not keep them."""
    options = ["-m", "compileall", "-qq", "-j0", "--invalidation-mode=unchecked-hash", "-s", str(layer), "-p", "/"]
    _run(tools, [*_python(tools), *options, *map(str, folders)])


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
    with tempfile.TemporaryDirectory() as folder:
        make_layers(build_wheel(Path(folder)), target / "base", target)
