#!/bin/sh
# Makes installed commands deaf to PYTHONPATH, PYTHONHOME and the like: `-I` in their first line.
#
#     tools/isolate.sh FILE...
#
# pip writes the first line, and has no way to be told of options.
set -eu
for file; do
    sed -i '1s|^#!\([^ ]*\)$|#!\1 -I|' "$file"
done
