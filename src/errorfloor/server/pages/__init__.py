"""The pages: ask, ledger, noise, about and login, drawn by the same process that answers."""

from errorfloor.server.pages.drawing import login_page
from errorfloor.server.pages.routes import router

__all__ = ["login_page", "router"]
