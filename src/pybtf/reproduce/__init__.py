"""Is the BTF of a file reproducible: encoding again under other circumstances, and lock files."""
