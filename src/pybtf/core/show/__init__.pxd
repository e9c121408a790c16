# The texts of `pybtf show`.
