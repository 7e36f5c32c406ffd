"""The world of scripts: all of kubescript's own code that runs in the untrusted process. The host imports none of
it."""
