"""The protocol between the host and a worker: all that both sides may import. It imports nothing of ours."""
