"""DWARF: which sections hold it, how units are joined, and what its faults mean. Decoding itself is in the core."""
