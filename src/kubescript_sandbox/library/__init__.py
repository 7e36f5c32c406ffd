"""What scripts find in place of builtins and the standard library: stand-ins that keep to the sandbox's limits."""
