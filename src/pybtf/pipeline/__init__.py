"""From an ELF file to BTF, pass by pass. Start with `passes.py`."""
