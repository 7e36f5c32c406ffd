"""Runs scripts that nobody has read, each in a process of its own: `python examples/houses/sandbox.py`."""

from kubescript_sandbox import alone

with alone.open_runner() as runner:
    counted = runner.run(alone.make_job("from collections import Counter\nCounter('mississippi').most_common(1)"))
    print(counted.result)
    refused = runner.run(alone.make_job("open('/etc/passwd').read()"))
    print(refused.fault.text if refused.fault else "it read the file")
