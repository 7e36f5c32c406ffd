"""The command line: the commands of `kubescript`."""
