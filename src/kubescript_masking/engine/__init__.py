"""Everything that reads hostile bytes for secrets: bytes of the cluster in, masked bytes out.

One scan over the raw bytes (`scanner`) finds candidates; only the strings they lie in are decoded and judged (`masker`,
and `names`, `values`, `patterns` below it); all other bytes pass unchanged. Every step is linear in the bytes it reads.
"""
