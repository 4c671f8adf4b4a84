#!/bin/sh
# The first and only process of a user-mode Linux: makes the machine's own files a place where the tests' tools
# work, runs the command, writes down how it ended, and turns the machine off. `krs_dir` comes from the kernel's
# command line and holds what uml.ts wrote there: `settings` (shell assignments), `command`, `bin/`.
exec 2>&1
. "$krs_dir/settings"
export PATH="$krs_dir/bin:$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin" HOME=/root LC_ALL=C

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /lib/modules
mount --bind "$krs_modules" /lib/modules
# shellcheck disable=SC2086 # one word for each module
modprobe -a $krs_load || echo "modprobe: $?" >"$krs_dir/failure"
ip link set lo up

echo "$krs_begin"
cd "$krs_cwd" && "$krs_dir/command"
code=$?
echo "$krs_end"
dmesg >"$krs_dir/kernel-log"
# Last of all: where this file is, everything above is written.
echo "$code" >"$krs_dir/exit-code"
poweroff -f
