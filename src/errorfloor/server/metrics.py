"""Metrics for Prometheus; every figure follows from questions, declarations and the ledger.

How long an answer took is the time on the grid at which it left: a measured one could depend on private values. That of
a pushed measurement, which is private from its first byte on, is not counted.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

UNTIMED = frozenset({"/v1/streams/{name}/answers"})


class Metrics:
    """Counts requests, refusals and answers.

    >>> metrics = Metrics()
    >>> metrics.request("/v1/price", "POST", 200, "done", 0.02)
    >>> metrics.answer([True, False])
    >>> text = metrics.text({"meters.kwh": 0.25}).decode()
    >>> 'errorfloor_allowance_used{account="meters.kwh"} 0.25' in text, 'outputs_total{charged="now"} 1.0' in text
    (True, True)
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "errorfloor_requests",
            "Requests by route, method and status",
            ["route", "method", "status"],
            registry=self._registry,
        )
        self._refusals = Counter("errorfloor_refusals", "Failures by code", ["code"], registry=self._registry)
        self._outputs = Counter(
            "errorfloor_outputs",
            "Released outputs, charged now or charged before",
            ["charged"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "errorfloor_request_seconds",
            "Duration of requests, on the grid where private columns were read",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._used = Gauge(
            "errorfloor_allowance_used",
            "Largest share used of the allowances of a column or of owners",
            ["account"],
            registry=self._registry,
        )

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

    def text(self, used: Mapping[str, float]) -> bytes:
        """Write everything, with the shares of the allowances that are used now."""
        for account, share in used.items():
            self._used.labels(account).set(share)
        return bytes(generate_latest(self._registry))
