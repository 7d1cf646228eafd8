"""Measure, side by side in one run, and print ratios: ``make bench``.

Absolute times depend on the machine and its other work; ratios of things measured together, alternately, do not.
"""

from benchmarks import (
    counts,
    designs,
    draws,
    elements,
    ledger,
    library,
    peers,
    peers_questions,
    policies,
    questions,
    release,
    server,
    trajectories,
)

if __name__ == "__main__":
    draws.main()
    peers.main()
    library.main()
    release.main()
    questions.main()
    peers_questions.main()
    policies.main()
    counts.main()
    server.main()
    ledger.main()
    trajectories.main()
    designs.main()
    elements.main()
