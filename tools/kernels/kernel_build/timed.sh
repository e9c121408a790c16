#!/bin/sh
# Runs the program whose name follows `timed-` in its own name, and appends to the file KBC_TIMES what it took: wall,
# user and system seconds, peak memory in KiB, and the command line. Without KBC_TIMES it only runs it.
program=${0##*/timed-}
if [ -z "$KBC_TIMES" ]; then
	exec "$program" "$@"
fi
exec /usr/bin/time -q -a -o "$KBC_TIMES" -f '%e %U %S %M %C' "$program" "$@"
