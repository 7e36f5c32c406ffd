"""The sandbox runs scripts without any of the other houses."""

from __future__ import annotations

import subprocess
import sys

from tests.kit import paths

ALONE = """
import sys
sys.argv[1:] = ["-"]
from kubescript_sandbox import __main__
code = __main__.main(sys.argv[1:])
print("houses", sorted({name.partition(".")[0] for name in sys.modules if name.startswith("kubescript")}))
sys.exit(code)
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    """The script, run by `python -m kubescript_sandbox -`."""
    return subprocess.run(
        [sys.executable, "-c", ALONE], input=script, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_script_has_a_value_a_usage_and_layers() -> None:
    """And no other house is loaded for it."""
    done = run("print('hello')\nimport json\njson.loads('[6]')[0] * 7")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert (lines["printed"], lines["value"], lines["houses"]) == ("hello", "42", "['kubescript_sandbox']")
    assert "MiB" in lines["usage"] and "seccomp" in lines["layers"]


def test_a_script_that_fails_says_why_in_its_own_words() -> None:
    """The sandbox knows no cluster, and names none; the next script runs."""
    done = run("open('/etc/passwd')")
    assert done.returncode == 1 and "there are no files here" in done.stdout
    assert "k8s" not in done.stdout + run("import requests").stdout
    assert run("1 + 1").returncode == 0


def test_the_example_runs() -> None:
    """As its first line says."""
    done = subprocess.run(
        [sys.executable, str(paths.ROOT / "examples/houses/sandbox.py")], capture_output=True, text=True, check=True
    )
    assert "[['i', 4]]".replace("'", '"') in done.stdout and "there are no files here" in done.stdout
