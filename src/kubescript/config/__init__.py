"""All settings, which are read once from flags, environment and file, in this order of precedence, and frozen."""

from kubescript.config.callers import Access, Approvers, Auth, Callers, Impersonation, Introspection, Reach
from kubescript.config.commands import ROUTES, OpenShift, OpenStack, Route, normal_url
from kubescript.config.context_table import Context, DeniedResource
from kubescript.config.deferring import defer_models
from kubescript.config.execution import Limits, Output, Redaction, RedactionRule, Sandbox
from kubescript.config.fleet import Fleet, FleetSettings, LabelSelector
from kubescript.config.http_transport import LOOPBACK, Http, Tls
from kubescript.config.loading import load
from kubescript.config.lowering import lower, lower_tables
from kubescript.config.observability import Audit, Telemetry
from kubescript.config.reloading import check_reload
from kubescript.config.replicas import Replicas
from kubescript.config.runbooks import RUNBOOK_NAME, PreApproved, Runbooks
from kubescript.config.section import MIB
from kubescript.config.settings import Mode, Settings
from kubescript.config.sources import Source
from kubescript.config.suggestions import nearest
from kubescript.config.write_policy import Approvals, Expression, Level, Login, NoticeFormat, Notify, Plans, WritePolicy

__all__ = [
    "LOOPBACK", "MIB", "ROUTES", "RUNBOOK_NAME", "Access", "Approvals", "Approvers", "Audit", "Auth", "Callers",
    "Context", "DeniedResource", "Expression", "Fleet", "FleetSettings", "Http", "Impersonation", "Introspection",
    "LabelSelector", "Level", "Limits", "Login", "Mode", "NoticeFormat", "Notify", "OpenShift", "OpenStack", "Output",
    "Plans", "PreApproved", "Reach", "Redaction", "RedactionRule", "Replicas", "Route", "Runbooks", "Sandbox",
    "Settings", "Source", "Telemetry", "Tls", "WritePolicy", "check_reload", "defer_models", "load", "lower",
    "lower_tables", "nearest", "normal_url",
]  # fmt: skip
