# The texts of `pybtf dump`.
