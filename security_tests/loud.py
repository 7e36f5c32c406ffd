"""A fork server whose workers rehearse a script that leaves traces wherever one can: the tests look for them.

Run by path as the command of a Spawner, never part of the product.
"""

from __future__ import annotations

import dataclasses
import sys

from kubescript_sandbox.confinement import fork_hooks

REHEARSED = """
import random
random.seed(1)
kept = "left by the rehearsal"
def list(): return kept
print(kept)
print(k8s.coreV1().list_namespaced_pod("warmup").items[0].metadata.name)
def sink(n): return sink(n + 1)
try:
    sink(0)
except RecursionError:
    pass
"""

if __name__ == "__main__":
    fork_hooks.refuse()  # before `main` imports random, as in the product
    from kubescript.guest import entry
    from kubescript_masking.wire import masking
    from kubescript_sandbox.guest import launch, main

    body = entry.GUEST.rehearsal.body.replace(b'"web"', b'"' + masking.OPENING + b'"')
    entry._Guest.rehearsal = dataclasses.replace(entry.GUEST.rehearsal, body=body)
    main._LEAST_SCRIPT = REHEARSED  # type: ignore[misc]
    sys.argv.insert(1, "kubescript.guest.entry")
    launch.main()
