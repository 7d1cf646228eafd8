"""The server: HTTP and pages over one service."""
