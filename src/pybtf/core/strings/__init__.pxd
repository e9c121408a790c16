# The tables of strings, and names that are interned late.
