# The BTF format: how long a record is, where its references are, what is wrong with a type section.
