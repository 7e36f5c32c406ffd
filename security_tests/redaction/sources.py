"""Answers of sources in the shape of Prometheus's API, and what a masker makes of them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from kubescript import redaction
from kubescript.request import request
from kubescript_masking.wire import masking as wire
from tests.kit import reading

__all__ = ["LABELS", "NUMBERS", "PLAIN", "SECRET", "TIME", "Door", "answer", "series", "stream"]

SECRET: Final = "Tr0ub4dor-and-3"
CALL: Final = request.Request("GET", "/", (), "get", False)
NUMBERS: Final = '[[1732730000.123,"0.5"],[1732730060.123,"-1.5e+06"],[1732730120,"NaN"],[1732730180,"+Inf"]]'
LABELS: Final = f'{{"__name__":"up","db_password":"{SECRET}"}}'
PLAIN: Final = '{"__name__":"up","pod":"web-7c5ddbdf54-x2x9k","image":"sha256:' + "3f" * 32 + '"}'
TIME: Final = 1_732_730_000_000_000_000


class Door:
    """What a masker makes of one answer."""

    def __init__(
        self,
        masking: redaction.Engine,
        form: wire.Form,
        body: str | bytes,
        *,
        packed: bool = False,
        echo: bool = False,
        label: str = "",
    ) -> None:
        """With `echo`, masks are drawn anew, as in the answer to a query; `label` is that of a list of values."""
        self._label = label
        self._mask = masking.echo if echo else masking.body
        self.found: Counter[str] = Counter()
        self.trailer: wire.Trailer | None = None
        self.text = b"".join(self._read(form, body if isinstance(body, bytes) else body.encode(), packed))

    @property
    def json(self) -> Any:
        """What a script reads."""
        return json.loads(self.text)

    def _read(self, form: wire.Form, body: bytes, packed: bool) -> Iterator[bytes]:
        content = gzip.compress(body, mtime=0) if packed else body
        chunks = (content[at : at + 9_000] for at in range(0, len(content), 9_000))
        call = replace(CALL, form=form, gzip=packed, named=self._label)
        report = reading.Report(lambda kind: self.found.update((kind,)))
        self.trailer = yield from self._mask(call, chunks, report)


def answer(*results: str, kind: str = "matrix", more: str = "", beside: str = "") -> str:
    """An answer in the shape of Prometheus's API, written as Go writes it."""
    data = f'{{"resultType":"{kind}","result":[{",".join(results)}]{more}}}'
    return f'{{"status":"success","data":{data}{beside}}}'


def series(labels: str = PLAIN, samples: str = f'"values":{NUMBERS}') -> str:
    """One series."""
    return f'{{"metric":{labels},{samples}}}'


def stream(lines: list[str], step: int = 1, labels: str = PLAIN, more: str = "") -> str:
    """A stream of these lines, each younger than the one before by `step` nanoseconds."""
    values = [f'["{TIME + at * step}",{json.dumps(line)}{more}]' for at, line in enumerate(lines)]
    return f'{{"stream":{labels},"values":[{",".join(values)}]}}'
