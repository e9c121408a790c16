"""ELF files: their layout on disk, reading them, and writing `.BTF` into them."""
