"""Readers who ask for the largest answers that they may have, as fast as they can.

Their tokens come on stdin; the statuses of the replies go to stdout.
"""

import http.client
import itertools
import json
import sys
import threading
from collections.abc import Iterator

LARGE = "SELECT person, count(*) AS n FROM pay WHERE person < {} GROUP BY person"


def attack(host: str, token: str, least: Iterator[int], had: threading.Semaphore, begun: threading.Event) -> None:
    """Ask until the process ends; say when the first answer came, and the statuses once all have begun."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    while True:
        line = http.client.HTTPConnection(host, timeout=120)
        line.request("POST", "/v1/ask", json.dumps({"sql": LARGE.format(next(least))}), headers)
        reply = line.getresponse()
        while reply.read(2**20):
            pass
        if begun.is_set():
            print(reply.status, flush=True)
        elif reply.status == 200:
            had.release()
            begun.wait()


def main(url: str, kind: str) -> None:
    """Attack with a thread for each token; every text is the same, or every one is new."""
    least = itertools.repeat(70000) if kind == "same" else itertools.count(60000)
    tokens, had, begun = sys.stdin.read().split(), threading.Semaphore(0), threading.Event()
    for token in tokens:
        threading.Thread(
            target=attack, args=(url.removeprefix("http://"), token, least, had, begun), daemon=True
        ).start()
    for _ in tokens:
        had.acquire()
    print("all", flush=True)
    begun.set()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
