# Section headers, symbols, relocations: what runs once per entry of a table.
