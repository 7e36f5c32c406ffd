"""Saved clusters: directories, archives and manifests that answer reads like an API server."""
