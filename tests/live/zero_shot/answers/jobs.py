"""Answers about Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    condition,
    controller,
    days_since,
    hours_since,
    key,
    name,
)


def _failed(job: Object) -> bool:
    return condition(job, "Failed").get("status") == "True"


@answer
def failed_jobs(cluster: Cluster) -> Any:
    return {key(one): condition(one, "Failed")["reason"] for one in cluster.jobs if _failed(one)}


@answer
def cronjob_last_failed(cluster: Cluster) -> Any:
    found = []
    for cron in cluster.cronjobs:
        runs = [one for one in cluster.jobs if controller(one).get("uid") == cron["metadata"]["uid"]]
        if runs and _failed(max(runs, key=lambda one: str(one["status"]["startTime"]))):
            found.append(key(cron))
    return sorted(found)


@answer
def suspended_cronjobs(cluster: Cluster) -> Any:
    return {key(one): one["spec"]["schedule"] for one in cluster.cronjobs if one["spec"].get("suspend")}


@answer
def cronjob_overdue(cluster: Cluster) -> Any:
    def late(stamp: str | None) -> bool:
        return stamp is None or hours_since(stamp) > 24

    return sorted(
        key(one)
        for one in cluster.cronjobs
        if not one["spec"].get("suspend") and late(one["status"].get("lastScheduleTime"))
    )


SECONDS = 3600


def _seconds(job: Object) -> int:
    status = job["status"]
    return round((hours_since(status["startTime"]) - hours_since(status["completionTime"])) * SECONDS)


@answer
def job_durations(cluster: Cluster) -> Any:
    return {name(one): _seconds(one) for one in cluster.within("jobs", "batch") if "completionTime" in one["status"]}


@answer
def cronjob_average(cluster: Cluster) -> Any:
    found: dict[str, list[int]] = {}
    for one in cluster.within("jobs", "batch"):
        owner = controller(one)
        if owner.get("kind") == "CronJob" and "completionTime" in one["status"]:
            found.setdefault(owner["name"], []).append(_seconds(one))
    return {cron: round(sum(times) / len(times) / 60, 1) for cron, times in found.items()}


@answer
def long_running_jobs(cluster: Cluster) -> Any:
    active = [one for one in cluster.jobs if one["status"].get("active", 0) > 0]
    return sorted(key(one) for one in active if hours_since(one["status"]["startTime"]) > 2)


@answer
def jobs_to_clean(cluster: Cluster) -> Any:
    done = [one for one in cluster.jobs if "completionTime" in one["status"]]
    old = [one for one in done if days_since(one["status"]["completionTime"]) > 7]
    return sorted(key(one) for one in old if "ttlSecondsAfterFinished" not in one["spec"])
