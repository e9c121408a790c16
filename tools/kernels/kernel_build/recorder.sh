#!/bin/sh
# Runs between make and the program under test: keeps the input and the output of each encoding.
#
# KBC_RECORDS names a folder, KBC_PROGRAM the program. Each call that encodes leaves a folder with `arguments` (one a line), `cwd`,
# `input` (a copy of the ELF file, which the kernel's build names last), `output` and `status`.
encodes= detached=
for last; do
	case $last in
	-J) encodes=yes ;;
	--btf_encode_detached=*) detached=${last#*=} ;;
	esac
done
if [ -z "$encodes" ]; then
	exec "$KBC_PROGRAM" "$@"
fi
record=$(mktemp -d "$KBC_RECORDS/XXXXXXXX") || exit 1
printf '%s\n' "$@" >"$record/arguments"
pwd >"$record/cwd"
cp "$last" "$record/input" || exit 1
"$KBC_PROGRAM" "$@"
status=$?
echo $status >"$record/status"
cp "${detached:-$last}" "$record/output"
exit $status
