"""Metrics for Prometheus; every figure follows from questions, declarations and the ledger.

How long an answer took is the time on the grid at which it left: a measured one could depend on private values. That of
a pushed measurement, which is private from its first byte on, is not counted.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the folder in which the processes of one server keep their counts
UNTIMED = frozenset({"/v1/streams/{name}/answers"})


class Metrics:
    """Counts requests, refusals and answers.

    >>> metrics = Metrics()
    >>> metrics.request("/v1/price", "POST", 200, "done", 0.02)
    >>> metrics.answer([True, False])
    >>> text = metrics.text({"meters.kwh": 0.25}).decode()
    >>> 'errorfloor_allowance_used_ratio{account="meters.kwh"} 0.25' in text, 'outputs_total{charged="now"} 1.0' in text
    (True, True)
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        named = ["route", "method", "status"]
        self._requests = counter("errorfloor_http_requests", "Requests by route, method and status", named)
        self._refusals = counter("errorfloor_refusals", "Failures by code", ["code"])
        self._outputs = counter("errorfloor_outputs", "Released outputs, charged now or charged before", ["charged"])
        self._seconds = Histogram(
            "errorfloor_http_request_duration_seconds",
            "Duration of requests, on the grid where private columns were read",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        gauge = partial(Gauge, registry=self._registry, multiprocess_mode="livesum")
        self._busy = gauge("errorfloor_threads_busy", "Threads that work on questions")
        self._waiting = gauge("errorfloor_questions_waiting", "Questions that wait for a thread")

    def request(self, route: str, method: str, status: int, code: str, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, method, str(status)).inc()
        if code != "done":
            self._refusals.labels(code).inc()
        if route not in UNTIMED:
            self._seconds.labels(route).observe(seconds)

    def answer(self, fresh: Iterable[bool]) -> None:
        """Count released outputs."""
        for charged in fresh:
            self._outputs.labels("now" if charged else "before").inc()

    def threads(self, busy: int, waiting: int) -> None:
        """Note how many threads work and how many questions wait."""
        self._busy.set(busy)
        self._waiting.set(waiting)

    def text(self, used: Mapping[str, float] | None) -> bytes:
        """Write everything, of all processes; ``used`` are the shares used now, None if the ledger does not answer.

        The shares are those for one reader, and nothing of them is kept for the next.
        """
        now = CollectorRegistry()
        now.register(_Shares(used))
        return self._counted() + bytes(generate_latest(now))

    def _counted(self) -> bytes:
        if SHARED not in os.environ:
            return bytes(generate_latest(self._registry))
        for file in Path(os.environ[SHARED]).glob("gauge_live*_*.db"):
            process = int(file.stem.rpartition("_")[2])
            if not Path(f"/proc/{process}").exists():
                multiprocess.mark_process_dead(process)  # type: ignore[no-untyped-call]
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(together))


@dataclass(frozen=True, eq=False)
class _Shares(Collector):
    """The figures that one reader may see of the ledger."""

    used: Mapping[str, float] | None

    def collect(self) -> Iterable[Metric]:
        shares = GaugeMetricFamily(
            "errorfloor_allowance_used_ratio",
            "Largest share used of the allowances of a column or of owners",
            labels=["account"],
        )
        for account, share in (self.used or {}).items():
            shares.add_metric([account], share)
        yield shares
        yield GaugeMetricFamily("errorfloor_ledger_up", "1 if the ledger answers, else 0", float(self.used is not None))
