"""What Kubernetes is, as every side knows it: host, untrusted process, masker, benchmark. Imports nothing of ours."""
