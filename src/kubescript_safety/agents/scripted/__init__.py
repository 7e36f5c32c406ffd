"""Scripted agents: for each scenario a careful, a hasty, a broad, a destructive and an injected one."""
