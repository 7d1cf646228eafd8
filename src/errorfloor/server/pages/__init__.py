"""The pages, drawn by the same process that answers: templates, scripts and styles, all from here.

``drawing`` lists the pages, fills their templates and has their static files, ``routes`` serves them, and ``sheet`` is
the guarantee on one sheet. A new page: a line in ``drawing.PAGES``, ``templates/NAME.html`` and
``static/NAME.js``; what it shows comes by the API that everybody uses.
"""

from errorfloor.server.pages.drawing import login_page
from errorfloor.server.pages.routes import router

__all__ = ["login_page", "router"]
