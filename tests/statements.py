"""Watch what a ledger says to its database."""

from contextlib import contextmanager


def when_lent(ledger, act):
    """Do something with every connection of a ledger before it is used."""
    connections = ledger._database.connections
    lend = connections.lend

    @contextmanager
    def watched():
        with lend() as connection:
            act(connection)
            yield connection

    connections.lend = watched


def watch(ledger, before=lambda *said: None, after=lambda *said: None):
    """See every statement that a ledger runs, before and after it does: the statement, then its values."""

    def watched(connection):
        run = type(connection).run

        def seen(*said):
            before(*said)
            rows = run(connection, *said)
            after(*said)
            return rows

        connection.run = seen

    when_lent(ledger, watched)
