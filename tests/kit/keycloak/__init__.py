"""The real Keycloak, fetched and built once per machine: `java`, `realm`, `server`, `prepared`.

Tests ask for it by the fixture `identity_provider`; see `tests/kit/identity_provider.py`.
"""
