"""`python -m sfit`: the program `sfit` where its script is not on the path."""

from sfit.cli import main

if __name__ == "__main__":
    main()
