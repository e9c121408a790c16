# From .debug_info to the tables of a DWARF unit.
