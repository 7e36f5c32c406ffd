"""The tools of the toolset `kubectl`, and `k8s.describe` of scripts: kubectl get, describe, logs, top and rollouts."""
