"""The wall: fork server, locked-down worker, and the wire between them and the host."""
