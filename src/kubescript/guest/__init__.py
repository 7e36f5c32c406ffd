"""Everything that runs in the untrusted process, and nothing else. The host imports none of it."""
