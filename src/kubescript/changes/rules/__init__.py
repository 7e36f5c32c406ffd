"""Rules about writes: about the requests, about their changes, and about how a cluster is changed."""
