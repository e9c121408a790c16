"""`python -m pybtf.pahole` is `pybtf-pahole`."""

from .main import program

if __name__ == "__main__":
    program()
