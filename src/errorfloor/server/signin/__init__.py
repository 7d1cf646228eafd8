"""Signing in: sessions, failed attempts, and who vouches for whom.

``store`` is the file that the processes of a server share; ``sessions`` have identifiers of their own, and an end;
``attempts`` says how often somebody may fail, ``uses`` when a token was last used; ``origins`` lets no other site post
here; ``routes`` is the door.
"""
