# question: q084-cronjob-average · style: verbose · author: a careful enterprise engineer
from datetime import datetime
from statistics import mean
from typing import Any, Dict, List, Optional


def owning_cronjob(job: Any) -> Optional[str]:
    """Name of the CronJob that controls the job, if any."""
    for ref in job.metadata.owner_references or []:
        if ref.kind == "CronJob" and ref.controller:
            return ref.name
    return None


def duration_minutes(job: Any) -> Optional[float]:
    """Duration in minutes of a completed job."""
    start: Optional[datetime] = job.status.start_time
    end: Optional[datetime] = job.status.completion_time
    if start is None or end is None:
        return None
    return (end - start).total_seconds() / 60.0


def main() -> Dict[str, float]:
    """Average duration by CronJob."""
    durations: Dict[str, List[float]] = {}
    for job in k8s.batchV1().list_namespaced_job(namespace="batch").items:
        cron = owning_cronjob(job)
        minutes = duration_minutes(job)
        if cron is None or minutes is None:
            continue
        durations.setdefault(cron, []).append(minutes)
    return {name: round(mean(values), 1) for name, values in durations.items()}


main()
