"""The tools of the toolset `helm`, and `k8s.helm` for scripts: the output of `helm list`, `status`, `get values` and
`history`, without access to the objects that store it. The broker serves releases as a separate resource."""
