"""What the classic tools do, in the untrusted process: `k8s.tools.kubectl_get("pods")`, `k8s.describe(pod)`.

A tool of the toolsets `kubectl`, `helm`, `cluster` and `gateway` is a script of one line that calls one of these
functions. So each goes through the broker, its policy, redaction and the audit like any script, and no host code reads
what a cluster says. A function takes the script's `k8s` first, then its own arguments; it returns text or JSON values,
and raises ToolError or ApiException.
"""
