"""Pictures of BTF: the layout of structs, and a treemap. They know bytes and no options."""
