"""One script, from its arrival to its answer."""

from kubescript.evaluator.answers import CallHandler
from kubescript.evaluator.evaluator import Evaluator
from kubescript.evaluator.hosts import Audit, Entry, Host, Runner

__all__ = ["Audit", "CallHandler", "Entry", "Evaluator", "Host", "Runner"]
