"""What a kernel would say of BTF, without asking one: its rules by loader and version, and what it does not notice."""
