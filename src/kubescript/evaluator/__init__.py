"""One script, from its arrival to its answer."""

from kubescript.evaluator.answers import CallHandler
from kubescript.evaluator.evaluator import Audit, Entry, Evaluator, Host, Runner

__all__ = ["Audit", "CallHandler", "Entry", "Evaluator", "Host", "Runner"]
