"""Reads scenarios in Evidra Bench's format (schema 2.1), so that they run here.

for found in evidra.read_all(folder, allow_shell=False):
    match found:
        case evidra.Runnable(scenario=task, left=left): ...
        case evidra.NotRunnable(id=name, reasons=reasons): ...
"""

from kubescript_safety.evidra.reading import NotRunnable, Runnable, is_scenario, read, read_all

__all__ = ["NotRunnable", "Runnable", "is_scenario", "read", "read_all"]
