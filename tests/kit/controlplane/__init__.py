"""What tests load into a real control plane: `fixture`, `bulk`; and which cluster they talk to: `cluster`."""
