"""Signatures of a release's files, by cosign.

With KUBESCRIPT_KEYLESS=1, which only the workflow of a code host sets, the workflow's identity signs, and the public
transparency log has the signature. Otherwise the key in the file COSIGN_KEY signs (COSIGN_PASSWORD opens it), without
the log. Without either, a key pair that proves nothing is made, so that a release can be tried on any machine.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from scripts.release import publication, tools

__all__ = [
    "PUBLIC_KEY",
    "attest_image",
    "is_own",
    "load_image",
    "make",
    "save_image",
    "sign",
    "sign_image",
    "verify",
    "verify_image",
]

PUBLIC_KEY: Final = "cosign.pub"
_THROW_AWAY: Final = publication.REPOSITORY / "build" / "throw-away-key" / "cosign.key"
_NO_LOG: Final = '{"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json"}'
"""A configuration of cosign without a transparency log and other services: signing needs no network."""


def make(published: publication.Publication, dist: Path) -> None:
    """Writes SHA256SUMS.sigstore.json, and cosign.pub unless the workflow's identity has signed."""
    sign(dist / "SHA256SUMS", dist)
    if not _is_keyless() and not os.environ.get("COSIGN_KEY"):
        print(f"COSIGN_KEY is not set: a throw-away key has signed ({_THROW_AWAY}); do not publish what it signed")


def sign(file: Path, dist: Path) -> None:
    """Writes the signature of a file beside it, as FILE.sigstore.json, and the public key into `dist`."""
    bundle = Path(f"{file}.sigstore.json")
    _cosign("sign-blob", "--yes", *_signer(), "--bundle", str(bundle), str(file))
    bundle.chmod(0o644)  # cosign makes it readable to its user alone
    if _is_keyless():
        (dist / PUBLIC_KEY).unlink(missing_ok=True)
    else:
        (dist / PUBLIC_KEY).write_text(_public(), encoding="utf-8")


def verify(file: Path, published: publication.Publication, dist: Path) -> None:
    """Raises RuntimeError when the signature beside a file is not of the signer of the release in `dist`."""
    _cosign("verify-blob", *_verifier(published, dist), "--bundle", f"{file}.sigstore.json", str(file))


def verify_image(image: str, published: publication.Publication, dist: Path) -> None:
    """Raises RuntimeError when no signature of an image, named with its digest, is of the signer of the release."""
    _cosign("verify", *_verifier(published, dist), image)


def is_own(dist: Path) -> bool:
    """Whether cosign.pub is the public half of COSIGN_KEY."""
    return bool(os.environ.get("COSIGN_KEY")) and (dist / PUBLIC_KEY).read_text(encoding="utf-8") == _public()


def sign_image(image: str) -> None:
    """Signs an image in its registry, named with its digest; the registry keeps the signature."""
    _cosign("sign", "--yes", *_signer(), image)


def attest_image(image: str, bill: Path) -> None:
    """Signs the bill of an image in its registry; the registry keeps both."""
    _cosign("attest", "--yes", *_signer(), "--type", "cyclonedx", "--predicate", str(bill), image)


def save_image(image: str, folder: Path) -> None:
    """Writes an image of a registry, with what was signed of it, into a new OCI layout."""
    _cosign("save", "--dir", str(folder), image)


def load_image(folder: Path, image: str) -> None:
    """Pushes what `save_image` wrote to a registry."""
    _cosign("load", "--dir", str(folder), image)


def _signer() -> list[str]:
    """The options that say who signs."""
    if _is_keyless():
        return []
    without_log = _THROW_AWAY.parent / "signing-config.json"
    without_log.parent.mkdir(parents=True, exist_ok=True)
    without_log.write_text(_NO_LOG, encoding="utf-8")
    return ["--signing-config", str(without_log), "--key", str(_key())]


def _verifier(published: publication.Publication, dist: Path) -> list[str]:
    """The options that say who has to have signed: cosign.pub, and without it the workflow of the version's tag."""
    key = dist / PUBLIC_KEY
    if key.exists():
        return ["--key", str(key), "--insecure-ignore-tlog"]
    identity = f"{published.repository}/.github/workflows/release.yml@refs/tags/v{published.version}"
    # The identity is a URL of the code host, and the log takes such a one from the host's own issuer alone.
    return ["--certificate-identity", identity, "--certificate-oidc-issuer-regexp", "https://.*"]


def _public() -> str:
    """The public half of the key that signs."""
    return _cosign("public-key", "--key", str(_key()))


def _is_keyless() -> bool:
    return os.environ.get("KUBESCRIPT_KEYLESS") == "1"


def _key() -> Path:
    given = os.environ.get("COSIGN_KEY")
    if given:
        return Path(given).absolute()
    if not _THROW_AWAY.exists():
        _THROW_AWAY.parent.mkdir(parents=True, exist_ok=True)
        _cosign("generate-key-pair", "--output-key-prefix", str(_THROW_AWAY.with_suffix("")))
    return _THROW_AWAY


def _cosign(*arguments: str) -> str:
    """What cosign prints. Its warnings are shown only when it fails: it looks for a log that is not asked for."""
    environment = {"COSIGN_PASSWORD": "", **os.environ}
    command = [str(tools.program("cosign")), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"cosign {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
