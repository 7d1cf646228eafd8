"""The pages, drawn by the same process that answers: templates, scripts and styles, all from here.

``routes`` lists the pages, fills their templates, has their static files and serves them; ``sheet`` is the guarantee on
one sheet. A new page: a line in ``routes.PAGES``, ``templates/NAME.html`` and ``static/NAME.js``; what it shows comes
by the API that everybody uses.
"""

from errorfloor.server.pages.routes import login_page, router

__all__ = ["login_page", "router"]
