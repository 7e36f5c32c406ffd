"""The other servers of Kubernetes that ours is compared with: what pins them, and how each is started."""
