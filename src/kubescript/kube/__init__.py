"""Facts about Kubernetes that every side shares: host, untrusted process, masker, benchmark. Imports nothing of
ours."""
