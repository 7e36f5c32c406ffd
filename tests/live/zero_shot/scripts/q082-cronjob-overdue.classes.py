# question: q082-cronjob-overdue · style: classes · author: a backend developer with clean-code habits
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Optional

NOW = datetime.now(timezone.utc)


@dataclass(order=True)
class Cron:
    key: str
    suspended: bool = field(compare=False)
    last: Optional[datetime] = field(compare=False, default=None)

    @property
    def overdue(self) -> bool:
        if self.suspended:
            return False
        return self.last is None or NOW - self.last > timedelta(hours=24)


crons = [
    Cron(f"{c.metadata.namespace}/{c.metadata.name}", bool(c.spec.suspend), c.status.last_schedule_time)
    for c in k8s.batchV1().list_cron_job_for_all_namespaces().items
]
[c.key for c in sorted(crons) if c.overdue]
