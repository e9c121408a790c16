"""BTF values made beside each object file, and merged after the link (docs/merge.md)."""
