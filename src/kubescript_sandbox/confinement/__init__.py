"""The steps by which a process gives up what it does not need: rlimits, namespaces, Landlock, seccomp."""
