"""What the host tells confined processes of a cluster, and they answer: all that both sides may import."""
