# question: q080-cronjob-last-failed · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict, List, Optional, Tuple


def controller_of(job: Any) -> Optional[Tuple[str, str]]:
    """Return (namespace, CronJob name) of the job's controller."""
    for ref in job.metadata.owner_references or []:
        if ref.controller and ref.kind == "CronJob":
            return (job.metadata.namespace, ref.name)
    return None


def has_failed(job: Any) -> bool:
    """True if the job has condition Failed=True."""
    return any(c.type == "Failed" and c.status == "True" for c in (job.status.conditions or []))


def main() -> List[str]:
    """CronJobs whose most recent job failed."""
    latest: Dict[Tuple[str, str], Any] = {}
    for job in k8s.batchV1().list_job_for_all_namespaces().items:
        key = controller_of(job)
        if key is None or job.status.start_time is None:
            continue
        current = latest.get(key)
        if current is None or job.status.start_time > current.status.start_time:
            latest[key] = job
    return sorted(f"{ns}/{name}" for (ns, name), job in latest.items() if has_failed(job))


main()
