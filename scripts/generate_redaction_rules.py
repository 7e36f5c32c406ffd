"""Writes `src/kubescript_masking/rules/shapes.toml` from gitleaks' rule file:
`python scripts/generate_redaction_rules.py gitleaks.toml REVISION`.

Taken are the rules that know a token by its own shape. Left out are those that need a vendor's name beside an arbitrary
text (`datadog … = 40 letters`): in objects names are judged by `names.py` beside them, for every vendor at once.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

TARGET: Final = Path(__file__).parents[1] / "src/kubescript_masking/rules/shapes.toml"
BESIDE_A_NAME: Final = "(?:=|>|:{1,3}="
LEFT_OUT: Final = {
    "curl-auth-header": "redaction.prose has headers wherever they stand",
    "curl-auth-user": "redaction.prose",
    "facebook-access-token": "any long number and a bar",
    "flutterwave-public-key": "public",
    "freemius-secret-key": "PHP only",
    "jwt": "redaction.prose, with other bounds",
    "jwt-base64": "redaction.encodings decodes every base64",
    "kubernetes-secret-yaml": "redaction.secret_objects",
    "nuget-config-password": "redaction.names",
    "private-key": "redaction.prose, across lines and escapes",
    "sidekiq-sensitive-url": "redaction.prose has every URL with a password",
}
OURS: Final = {
    "sourcegraph-access-token": r"sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}",  # theirs takes any git commit
    "square-access-token": r"sq0atp-[\w-]{22,60}",  # theirs takes base64 that begins with EAAA
    "vault-service-token": r"hvs\.[\w-]{24,120}",  # `s.` and 24 letters ends too many host names
    "aws-amazon-bedrock-api-key-short-lived": r"bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/=]*",
    "openai-api-key": r"sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{58,74}|[a-zA-Z0-9]{20})T3BlbkFJ[A-Za-z0-9_-]{20,74}",
    "databricks-api-token": r"dapi[a-f0-9]{32}",
    "huggingface-access-token": r"hf_[a-zA-Z0-9]{34}",
    "slack-bot-token": r"xoxb-[0-9]{10,13}-[0-9]{10,13}-?[a-zA-Z0-9-]*",
    "slack-app-token": r"xapp-\d-[A-Za-z0-9]+-\d+-[A-Za-z0-9]+",
    "twilio-api-key": r"(SK[0-9a-f]{32})(?:\W|$)",
    "azure-ad-client-secret": r"[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}",
}
END: Final = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
HEADER: Final = """\
# Tokens that are known by their own shape. Written by scripts/generate_redaction_rules.py; do not edit.
#
# From gitleaks, https://github.com/gitleaks/gitleaks, config/gitleaks.toml, revision {revision}.
# MIT License, Copyright (c) 2019 Zachary Rice. Permission is hereby granted, free of charge, to any person obtaining a
# copy of this software and associated documentation files (the "Software"), to deal in the Software without
# restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense,
# and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
# following conditions: The above copyright notice and this permission notice shall be included in all copies or
# substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
# IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
# NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
# LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
# SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
#
# `probe` is hyperscan's and may match too much, at one place per token; `regex` is RE2's and decides.
"""


def main() -> None:
    """Read gitleaks' file, write ours."""
    source = Path(sys.argv[1]).read_text("utf-8")
    rules = tomllib.loads(source)["rules"]
    taken = [_rule(rule) for rule in rules if _is_taken(rule)]
    header = HEADER.format(revision=sys.argv[2])
    TARGET.write_text(header + "".join(taken), "utf-8")


def _is_taken(rule: dict[str, Any]) -> bool:
    if rule["id"] in LEFT_OUT:
        return False
    # A rule without an expression is about the names of files.
    return BESIDE_A_NAME not in rule.get("regex", BESIDE_A_NAME)


def _rule(rule: dict[str, Any]) -> str:
    name = rule["id"]
    regex = OURS.get(name) or _bare(rule["regex"])
    probe = _probe(regex)
    if name not in OURS and rule["regex"].endswith((END, r"\b", r"\b)", r"|\z)")):
        return _text(rule, probe, _closed(regex))
    return _text(rule, probe, regex)


def _text(rule: dict[str, Any], probe: str, regex: str) -> str:
    lines = [
        "[[rules]]",
        f"id = {json.dumps(rule['id'])}",
        f"probe = '''{probe}'''",
        f"regex = '''{regex}'''",
    ]
    if "entropy" in rule:
        lines.append(f"entropy = {float(rule['entropy'])}")
    return "\n" + "\n".join(lines) + "\n"


def _closed(regex: str) -> str:
    """With what may stand behind a token, which is not part of it."""
    groups = re.compile(regex).groups
    return (regex if groups else f"({regex})") + r"(?:\W|$)"


def _bare(regex: str) -> str:
    """Without what Python, which measures it here, has no word for, and without bounds: those are the reader's."""
    regex = regex.removesuffix(END).removesuffix(r"(?:[^\w-]|\z)").removesuffix(r"(?:[^a-zA-Z0-9+/]|\z)")
    regex = regex.replace("[[:alnum:]]", "[a-zA-Z0-9]").removesuffix(r"\b")
    regex = regex.replace(r"(?:[\x60'\"\s;]|\\[nr]|$|\b)", "").replace("""(?:[\\x60'"\\s;]|\\\\[nr]|$|\\b)""", "")
    whole = "(?i)" if regex.startswith("(?i)") else ""
    regex = regex.removeprefix("(?i)").removeprefix(r"\b").replace(r"\b", "")
    while (at := regex.find("(?i)")) >= 0:  # Go: from here to the end of the group
        end = _group_end(regex, at)
        regex = f"{regex[:at]}(?i:{regex[at + 4 : end]}){regex[end:]}"
    return f"(?i:{regex})" if whole else regex


def _group_end(regex: str, at: int) -> int:
    depth, escaped, in_class = 0, False, False
    for place in range(at + 4, len(regex)):
        char = regex[place]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                return place
    return len(regex)


def _probe(regex: str) -> str:
    """As short as it can be and still tell: an open end would match again at every further byte."""
    while True:
        shorter = re.sub(r"(={0,1}\{0,\d\}|[*?])(\)*)$", r"\2", regex)
        shorter = re.sub(r"=(\)*)$", r"\1", shorter) if shorter != regex else regex
        shorter = re.sub(r"\{(\d+),\d*\}(\)*)$", r"{\1}\2", shorter)
        shorter = re.sub(r"(?<=\])\+(\)*)$", r"\1", shorter)
        shorter = re.sub(r"\[[^\[\]]*\](\)*)$", r"[^\\x00-\\x20]\1", shorter) if shorter.endswith("*") else shorter
        if shorter == regex:
            return regex.removesuffix(r"(?:\W|$)")
        regex = shorter


if __name__ == "__main__":
    main()
