"""``python -m distmom``: the command line."""

from distmom.cli import main

if __name__ == "__main__":
    main()
