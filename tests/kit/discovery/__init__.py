"""Recorded discovery documents of the supported Kubernetes versions, and an API server that serves them."""
