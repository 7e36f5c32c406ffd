"""The measurements behind the project's figures. Each module `b1` … `b5` is one; `python -m benchmarks` runs them."""
