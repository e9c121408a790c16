#!/bin/sh
# Makes installed commands ignore PYTHONPATH, PYTHONHOME and the like (`-I` in their first line), and start faster,
# without `site` (`-S`): the commands themselves say where packages are.
#
#     tools/project/isolate.sh FILE...
#
# pip writes the first line, and cannot add options to it.
set -eu
for file; do
    python=$(sed -n '1s|^#!\([^ ]*\)$|\1|p' "$file")
    [ -n "$python" ] || continue
    "$python" -I - "$file" <<'PYTHON'
import subprocess
import sys
from pathlib import Path

file = Path(sys.argv[1])
bare = subprocess.run([sys.executable, "-IS", "-c", "import sys; print(*sys.path, sep='\\n')"], capture_output=True, text=True)
packages = [folder for folder in sys.path if folder not in bare.stdout.splitlines()]
first, text = file.read_text().split("\n", 1)
assert "import sys\n" in text, f"{file} is not what pip writes"
text = text.replace("import sys\n", f"import sys\nsys.path += {packages!r}\n", 1)
file.write_text(f"{first} -IS\n{text}")
PYTHON
done
