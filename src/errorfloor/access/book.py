"""What is written down of every visit once it is over, whichever door it came through."""

import datetime
import time
from dataclasses import dataclass

from errorfloor.access.audit import AuditLog
from errorfloor.access.metrics import Metrics
from errorfloor.access.visit import Visit


@dataclass(frozen=True)
class VisitorsBook:
    """One line in the audit log and the metrics; the time of an answer is the one on the grid at which it left."""

    metrics: Metrics
    audit: AuditLog

    def write(self, visit: Visit, route: str, method: str, status: int, address: str | None) -> None:
        """End a visit: let go of what it held, and write it down."""
        for one in visit.ended:
            one()
        written = visit.written or status
        left, moment = visit.left or (time.monotonic(), datetime.datetime.now(datetime.UTC))
        self.metrics.request(route, method, written, visit.code, left - visit.began)
        self.audit.write(visit, route, method, written, moment, address)
