"""kubescript: a sandboxed code-mode MCP server for Kubernetes.

This file stays empty of imports: the fork server imports the package before any setting or credential is read, and
whatever stood here would be warm in every sandbox.
"""

__version__ = "0.1.0"
