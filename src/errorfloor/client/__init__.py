"""The client: the same face as a database opened here, over HTTP."""
