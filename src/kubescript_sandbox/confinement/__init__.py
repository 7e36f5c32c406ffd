"""The steps by which a process gives up everything it does not need: rlimits, namespaces, Landlock, seccomp."""
