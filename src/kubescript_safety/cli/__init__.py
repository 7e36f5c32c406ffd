"""The program `kubescript-safety`."""
