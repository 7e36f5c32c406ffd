"""The tools of the toolset `helm`, and `k8s.helm` of scripts: what `helm list`, `status`, `get values` and `history`
tell, without the objects in which Helm keeps it. The broker serves releases as a resource of its own."""
