"""The protocol between the host and a worker: everything that both sides may import. Imports no other package here."""
