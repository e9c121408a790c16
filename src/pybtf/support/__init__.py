"""Classes of data, threads, times, the start and end of a process: what knows nothing of BTF, and imports little."""

# What only annotations need stands below `if TYPE_CHECKING:`. Type checkers take a name like this for true; importing
# `typing` for it would take longer than most modules of this package.
TYPE_CHECKING = False
