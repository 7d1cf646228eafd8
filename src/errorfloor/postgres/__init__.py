"""The PostgreSQL door: the same questions, charges and refusals for every tool that speaks PostgreSQL's protocol.

``wire`` has the messages, ``values`` how cells and parameters are written, ``line`` the start of a line and who is
there, ``session`` what a line's messages do, ``session_questions`` how they ask, ``commands`` what is not a question,
``copying`` the rows of COPY, ``declared`` and ``rewriting`` the system catalogue that tools look tables up in,
``listener`` the lines together.
"""
