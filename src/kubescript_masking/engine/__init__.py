"""Scans hostile bytes and locates the secrets in them: the cluster's bytes come in, masked bytes go out.

One scan over the raw bytes (`scanner`) finds candidates; only the strings that contain one are decoded and judged
(`masker`, with the `rules`); all other bytes pass unchanged. Every step is linear in the bytes it reads.
"""
