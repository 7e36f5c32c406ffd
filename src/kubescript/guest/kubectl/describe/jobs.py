"""Jobs and CronJobs."""

from __future__ import annotations

import datetime
from typing import Final

from kubescript.guest.kubectl.describe import subject, template, text_writer, texts
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk.values import ages, timestamps

__all__ = ["cron_job", "job"]

_MAX_INDEXES: Final = 50
"""How many characters of the list of completed indexes are shown, up to the next comma."""


def job(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a Job."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Selector", cells.selector(spec.get("selector")))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    if owner := texts.controller(about.object):
        out.field("Controlled By", f"{owner.get('kind')}/{owner.get('name')}")
    out.optional_field("Parallelism", spec.get("parallelism"))
    out.field("Completions", texts.text(spec.get("completions"), "<unset>"))
    out.optional_field("Completion Mode", spec.get("completionMode"))
    out.optional_field("Suspend", spec.get("suspend"))
    out.optional_field("Backoff Limit", spec.get("backoffLimit"))
    out.optional_field("TTL Seconds After Finished", spec.get("ttlSecondsAfterFinished"))
    _times(out, status)
    _deadline(out, spec)
    ready = f" ({status['ready']} Ready)" if status.get("ready") is not None else ""
    active, succeeded, failed = (status.get(key, 0) for key in ("active", "succeeded", "failed"))
    out.field("Pods Statuses", f"{active} Active{ready} / {succeeded} Succeeded / {failed} Failed")
    if spec.get("completionMode") == "Indexed":
        out.field("Completed Indexes", _indexes(texts.text(status.get("completedIndexes"))))
    template.template(out, spec.get("template"))


def _times(out: text_writer.Writer, status: texts.Object) -> None:
    started, ended = status.get("startTime"), status.get("completionTime")
    if started:
        out.field("Start Time", texts.time(started))
    if ended:
        out.field("Completed At", texts.time(ended))
    first, last = timestamps.parse_time(started), timestamps.parse_time(ended)
    if isinstance(first, datetime.datetime) and isinstance(last, datetime.datetime):
        out.field("Duration", ages.age(last - first))


def _deadline(out: text_writer.Writer, spec: texts.Object) -> None:
    if spec.get("activeDeadlineSeconds") is not None:
        out.field("Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")


def _indexes(done: str) -> str:
    if not done:
        return "<none>"
    comma = done.find(",", _MAX_INDEXES)
    return done if comma < 0 else f"{done[: comma + 1]}..."


def cron_job(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a CronJob."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Schedule", spec.get("schedule"))
    out.field("Concurrency Policy", spec.get("concurrencyPolicy"))
    out.field("Suspend", "<unset>" if spec.get("suspend") is None else str(bool(spec["suspend"])))
    out.field("Time Zone", texts.text(spec.get("timeZone"), "<unset>"))
    out.field("Successful Job History Limit", texts.text(spec.get("successfulJobsHistoryLimit"), "<unset>"))
    out.field("Failed Job History Limit", texts.text(spec.get("failedJobsHistoryLimit"), "<unset>"))
    deadline = spec.get("startingDeadlineSeconds")
    out.field("Starting Deadline Seconds", "<unset>" if deadline is None else f"{deadline}s")
    _job_template(out, (spec.get("jobTemplate") or {}).get("spec") or {})
    last = status.get("lastScheduleTime")
    out.field("Last Schedule Time", texts.time(last) if last else "<unset>")
    out.field("Active Jobs", texts.join([each.get("name") for each in status.get("active") or ()], between=", "))


def _job_template(out: text_writer.Writer, spec: texts.Object) -> None:
    selector = spec.get("selector")
    out.field("Selector", "<unset>" if selector is None else cells.selector(selector))
    out.field("Parallelism", texts.text(spec.get("parallelism"), "<unset>"))
    out.field("Completions", texts.text(spec.get("completions"), "<unset>"))
    _deadline(out, spec)
    template.template(out, spec.get("template"))
