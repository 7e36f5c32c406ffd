"""Rules about how a cluster is changed: pure functions over a transcript of changes."""
