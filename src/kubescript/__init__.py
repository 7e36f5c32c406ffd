"""kubescript: a sandboxed code-mode MCP server for Kubernetes.

This file must import nothing: the fork server imports the package before any setting or credential is read, and
anything imported here would be loaded in every sandbox.
"""

__version__ = "0.2.0"
