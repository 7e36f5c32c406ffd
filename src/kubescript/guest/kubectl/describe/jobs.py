"""Jobs and CronJobs."""

from __future__ import annotations

import datetime
from typing import Final

from kubescript.guest.kubectl.describe import template, texts
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk.values import ages, timestamps

__all__ = ["cron_job", "job"]

_JOB_SETTINGS: Final = {
    "Completion Mode": "completionMode",
    "Suspend": "suspend",
    "Backoff Limit": "backoffLimit",
    "TTL Seconds After Finished": "ttlSecondsAfterFinished",
}
_SCHEDULE: Final = {"Schedule": "schedule", "Concurrency Policy": "concurrencyPolicy"}
# How many characters of the list of completed indexes are shown, up to the next comma, as in kubectl.
_MAX_INDEXES: Final = 50
_UNSET: Final = "<unset>"


def job(about: Subject, out: Writer) -> None:
    """Writes a Job."""
    spec = about.spec
    status = about.status
    out.names(about.metadata)
    out.field("Selector", cells.selector(spec.get("selector")))
    out.labels_and_annotations(about.metadata)
    out.optional_field("Controlled By", texts.controller_name(about.object))
    out.optional_field("Parallelism", spec.get("parallelism"))
    _write_text(out, "Completions", spec.get("completions"))
    out.optional_fields(spec, _JOB_SETTINGS)
    _write_times(out, status)
    _write_deadline(out, spec)
    out.field("Pods Statuses", _pod_counts(status))
    if spec.get("completionMode") == "Indexed":
        indexes = texts.text(status.get("completedIndexes"))
        out.field("Completed Indexes", _cut_indexes(indexes))
    template.template(out, spec.get("template"))


def _pod_counts(status: Object) -> str:
    """Returns a string such as `1 Active (1 Ready) / 2 Succeeded / 0 Failed`."""
    active = status.get("active", 0)
    succeeded = status.get("succeeded", 0)
    failed = status.get("failed", 0)
    ready = status.get("ready")
    ready_text = ""
    if ready is not None:
        ready_text = f" ({ready} Ready)"
    return f"{active} Active{ready_text} / {succeeded} Succeeded / {failed} Failed"


def _write_times(out: Writer, status: Object) -> None:
    """Writes when the job began and ended, and how long it took."""
    started = status.get("startTime")
    ended = status.get("completionTime")
    if started:
        out.field("Start Time", texts.time(started))
    if ended:
        out.field("Completed At", texts.time(ended))
    first = timestamps.parse_time(started)
    last = timestamps.parse_time(ended)
    if isinstance(first, datetime.datetime) and isinstance(last, datetime.datetime):
        out.field("Duration", ages.age(last - first))


def _write_deadline(out: Writer, spec: Object) -> None:
    """Writes how long the job may run before it is stopped."""
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        out.field("Active Deadline Seconds", f"{deadline}s")


def _cut_indexes(indexes: str) -> str:
    """Returns a list such as `1,3-5,7`, cut at a comma if it is long."""
    if not indexes:
        return "<none>"
    comma = indexes.find(",", _MAX_INDEXES)
    if comma < 0:
        return indexes
    return f"{indexes[: comma + 1]}..."


def cron_job(about: Subject, out: Writer) -> None:
    """Writes a CronJob."""
    spec = about.spec
    out.names(about.metadata)
    out.labels_and_annotations(about.metadata)
    out.fields(spec, _SCHEDULE)
    suspend = spec.get("suspend")
    _write_text(out, "Suspend", None if suspend is None else str(bool(suspend)))
    _write_text(out, "Time Zone", spec.get("timeZone"))
    _write_text(out, "Successful Job History Limit", spec.get("successfulJobsHistoryLimit"))
    _write_text(out, "Failed Job History Limit", spec.get("failedJobsHistoryLimit"))
    deadline = spec.get("startingDeadlineSeconds")
    _write_text(out, "Starting Deadline Seconds", None if deadline is None else f"{deadline}s")
    job_template = spec.get("jobTemplate") or {}
    _write_job_template(out, job_template.get("spec") or {})
    _write_cron_status(out, about.status)


def _write_cron_status(out: Writer, status: Object) -> None:
    """Writes when the last job was created, and which jobs are running now."""
    last = status.get("lastScheduleTime")
    out.field("Last Schedule Time", texts.time(last) if last else _UNSET)
    active = status.get("active") or ()
    names = [each.get("name") for each in active]
    out.field("Active Jobs", texts.join(names, between=", "))


def _write_job_template(out: Writer, spec: Object) -> None:
    """Writes the settings of the jobs that a CronJob creates."""
    selector = spec.get("selector")
    _write_text(out, "Selector", None if selector is None else cells.selector(selector))
    _write_text(out, "Parallelism", spec.get("parallelism"))
    _write_text(out, "Completions", spec.get("completions"))
    _write_deadline(out, spec)
    template.template(out, spec.get("template"))


def _write_text(out: Writer, title: str, value: object) -> None:
    """Writes a field that is shown as unset if it has no value."""
    text = texts.text(value, _UNSET)
    out.field(title, text)
