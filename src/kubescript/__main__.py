"""`python -m kubescript`: runs the command if its folder is not on the PATH."""

from __future__ import annotations

from kubescript.cli import main

if __name__ == "__main__":
    main.main()
