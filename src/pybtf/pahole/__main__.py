"""`python -m pybtf.pahole` is `pybtf-pahole`."""

from pybtf.pahole.main import program

if __name__ == "__main__":
    program()
