"""Masks the secrets of a log: `python examples/houses/masking.py`."""

from kubescript_masking import alone

LOG = "level=info msg=connected url=postgres://app:Tr0ub4dor@db/app\nlevel=debug password=hunter22\n"

with alone.open_engine() as engine:
    print(engine.text(LOG, lambda kind: print("found:", kind)))
