"""Readers who ask for the largest answers that they may have, as fast as they can.

Their tokens come on stdin; the statuses of the replies go to stdout.
"""

import http.client
import json
import sys
import threading

LARGE = json.dumps({"sql": "SELECT person, count(*) AS n FROM pay WHERE person < 70000 GROUP BY person"})


def attack(host: str, token: str, had: threading.Semaphore, begun: threading.Event) -> None:
    """Ask until the process ends; say when the first answer came, and the statuses once all have begun."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    while True:
        line = http.client.HTTPConnection(host, timeout=120)
        line.request("POST", "/v1/ask", LARGE, headers)
        reply = line.getresponse()
        while reply.read(2**20):
            pass
        if begun.is_set():
            print(reply.status, flush=True)
        elif reply.status == 200:
            had.release()
            begun.wait()


def main(url: str) -> None:
    """Attack with a thread for each token."""
    tokens, had, begun = sys.stdin.read().split(), threading.Semaphore(0), threading.Event()
    for token in tokens:
        threading.Thread(target=attack, args=(url.removeprefix("http://"), token, had, begun), daemon=True).start()
    for _ in tokens:
        had.acquire()
    print("all", flush=True)
    begun.set()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
