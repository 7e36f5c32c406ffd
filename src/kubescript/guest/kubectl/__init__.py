"""The tools of the toolset `kubectl`, and `k8s.describe` for scripts: kubectl get, describe, logs, top and rollouts."""
