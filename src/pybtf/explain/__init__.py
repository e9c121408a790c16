"""Why something of a program is in its BTF, or is not: `pybtf why`, `pybtf.why`."""
