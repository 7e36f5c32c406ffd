"""Archives of strangers: what they unpack to, where, and how much."""

from __future__ import annotations

import gzip
import json
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Final

import pytest

from kubescript.snapshot import archives, snapshot
from security_tests.saved import (
    in_time,
    log,
    opening,
    own_format,
    pod,
    put,
)


def packed(file: Path, *headers: tarfile.TarInfo | bytes, content: bytes = b"") -> Path:
    """A tar archive of headers as they are given, each followed by its bytes."""
    blocks = [one if isinstance(one, bytes) else one.tobuf(tarfile.GNU_FORMAT) for one in headers]
    with gzip.open(file, "wb") as out:
        for block in (*blocks, content):
            out.write(block)
    return file


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, target
    return info


def pax(records: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return header("x", len(records), tarfile.XHDTYPE), records.ljust(-(-len(records) // 512) * 512, b"\0")


ZEROS: Final = (b"\0" * (1 << 20),) * 64
DIGITS: Final = b"1" * 60_000
ARCHIVES: Final[dict[str, tuple[tarfile.TarInfo | bytes, ...]]] = {
    "link": (header("logs", 0, tarfile.SYMTYPE, "/etc"), header("logs/passwd", 0)),
    "hard link": (header("x.json", 0, tarfile.LNKTYPE, "/etc/passwd"),),
    "pipe": (header("x.json", 0, tarfile.FIFOTYPE),), "device": (header("x.json", 0, tarfile.CHRTYPE),),
    "up": (header("../evil.json", 0),), "up inside": (header("a/../../evil.json", 0),), "absolute": (header("/evil.json", 0),),
    "up, in a long name": (header("x", 512, tarfile.GNUTYPE_LONGNAME), b"../evil.json".ljust(512, b"\0"), header("y", 0)),
    "up, in a pax name": (*pax(b"21 path=../evil.json\n"), header("y", 0)),
    "deep": (header("x", 3_072, tarfile.GNUTYPE_LONGNAME), b"d/" * 1_536, header("y", 0)),
    "deep, in steps": tuple(part for depth in (700, 1_400) for part in (
        header("x", 3_072, tarfile.GNUTYPE_LONGNAME), (b"d/" * depth).ljust(3_072, b"\0"), header("y", 0, tarfile.DIRTYPE),
    )), "negative size": (header("x.json", -1_024), header("y.json", 0)), "negative pax size": (*pax(b"13 size=-512\n"), header("y", 0)),
    "a name of gigabytes": (header("x", 4 << 30, tarfile.GNUTYPE_LONGNAME),),
"a name of 128 KiB": (header("x", 131_072, tarfile.GNUTYPE_LONGNAME), b"./" * 65_535 + b"xx", header("y", 0)),
    "a pax header of gigabytes": (header("x", 4 << 30, tarfile.XHDTYPE),),
    "digits": pax(DIGITS), "digits, hdrcharset": (*pax(DIGITS + b" hdrcharset=x\n"), header("y", 0)),
    "length of nothing": pax(b"0 a=b\n"), "lengths that overlap": pax(b"-9 a=b\n"),
    "sparse": (*pax(b"22 GNU.sparse.major=1\n"), header("y", 0)), "old sparse": (header("x.json", 0, tarfile.GNUTYPE_SPARSE),),
    "cut off": (header("x.json", 4_096), b"x" * 512), "more than there may be": (header("x.json", 9 << 30), *ZEROS),
    "a number of 60,000 digits": (*pax(b"60012 size=" + DIGITS + b"\n"), header("y", 0)), "nothing": (b"\0" * 1_024,), "empty": (),
}  # fmt: skip


@pytest.mark.promise("C-03")
@pytest.mark.parametrize("name", ARCHIVES)
def test_no_archive_unpacks_elsewhere_or_without_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile archive is refused in words, leaves nothing behind, and the next is served."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    began = time.process_time()
    said = in_time(lambda: opening(packed(tmp_path / "x.tar.gz", *ARCHIVES[name])))
    assert time.process_time() - began < 5
    assert said.startswith("cluster.config: ") and "x.tar.gz" in said, said
    assert "no Kubernetes objects" not in said and ("negative" in said or "negative" not in name)
    assert not list((tmp_path / "tmp").iterdir()) and not list(tmp_path.rglob("evil*"))
    data = json.dumps(pod("p1")).encode()
    good = packed(tmp_path / "y.tar.gz", header("y.json", len(data)), content=data.ljust(1_024, b"\0"))
    assert in_time(lambda: opening(good)) == ""


@pytest.mark.promise("C-03")
def test_an_archive_is_counted_while_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes, headers and names are counted as they come, in small numbers here, whatever an archive says of itself."""
    monkeypatch.setattr(archives, "_MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr(archives, "_MAX_ENTRIES", 1_000)
    zeros_ = b"\0" * (2 << 20)
    assert "unpacks to more" in opening(packed(tmp_path / "1.tar.gz", header("x.json", len(zeros_)), content=zeros_))
    assert "unpacks to more" in opening(
        packed(tmp_path / "2.tar.gz", header("x", len(zeros_), tarfile.XGLTYPE), content=zeros_)
    )
    assert "unpacks to more" in opening(packed(tmp_path / "3.tar.gz", *(pax(b"8 a=bcd\n") * 2_000)))
    assert "more than 1000 files" in opening(packed(tmp_path / "4.tar.gz", *(header(f"{n}", 0) for n in range(1_500))))
    with zipfile.ZipFile(tmp_path / "5.zip", "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("x.json", zeros_)
    assert "unpacks to more" in opening(tmp_path / "5.zip")
    with zipfile.ZipFile(tmp_path / "6.zip", "w") as bundle:
        for number in range(1_500):
            bundle.writestr(f"{number}", "")
    assert "more than 1000 files" in opening(tmp_path / "6.zip")


@pytest.mark.promise("C-03")
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_archive_of_another_method_is_refused(method: int, tmp_path: Path) -> None:
    """The library unpacks these methods without a bound on what one piece gives."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w", method) as bundle:
        bundle.writestr("x.json", b"\0" * (64 << 20))
    assert "other than deflate" in opening(tmp_path / "x.zip")


@pytest.mark.promise("C-03")
@pytest.mark.parametrize("form", ["gz", "bz2", "xz", ""])
@pytest.mark.parametrize("style", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_archives_as_tar_writes_them_are_read(form: str, style: int, tmp_path: Path) -> None:
    """Long names, other letters and owners of any number are read as every tar writes them."""
    own_format(tmp_path / "saved")
    deep = "/".join(["d" * 60] * 3)
    put(tmp_path / "saved" / deep / "ä.txt", "x" * 700)
    with tarfile.open(tmp_path / "x.tar", f"w:{form}", format=style) as tar:  # type: ignore[call-overload]
        tar.add(tmp_path / "saved", "saved")
    (tmp_path / "x.tar").rename(tmp_path / "x.archive")
    cluster = snapshot.Snapshot(tmp_path / "x.archive")
    assert log(cluster, "p2") == "a line\n"
    unpacked = cluster._store.temporary
    assert unpacked is not None and (unpacked / "saved" / deep / "ä.txt").read_text() == "x" * 700
    cluster.close()
