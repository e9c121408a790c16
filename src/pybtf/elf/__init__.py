"""The ELF side: the mapped file, its sections, symbols, relocations and notes."""
