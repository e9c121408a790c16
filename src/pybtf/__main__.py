"""`python -m pybtf` is `pybtf`."""

from pybtf.cli.main import program

if __name__ == "__main__":
    program()
