"""``python -m errorfloor`` is the command line."""

from errorfloor.cli import main

if __name__ == "__main__":
    main()
