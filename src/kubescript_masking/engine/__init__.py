"""How hostile bytes are scanned, and where in them a secret stands: bytes of the cluster in, masked bytes out.

One scan over the raw bytes (`scanner`) finds candidates; only the strings they lie in are decoded and judged (`masker`,
and the house's `rules`); all other bytes pass unchanged. Every step is linear in the bytes it reads.
"""
