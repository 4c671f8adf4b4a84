#!/bin/sh
# Brings what a fresh machine lacks: the kernel tools (Debian's packages, as root) and the npm packages.
# Quiet and quick when all is there. What cannot be installed is named and left: what needs it says so itself.
set -eu
cd "$(dirname "$0")/.."

# The tools live in sbin, which is not on everyone's PATH.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

missing=
need() {
  command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need nft nftables
need iptables-restore iptables
need ip iproute2
need conntrack conntrack

install() {
  apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

if [ -n "$missing" ]; then
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup: not root, so not installed:$missing" >&2
  elif ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: no apt-get here; install these with your system's own means:$missing" >&2
  else
    echo "setup: installing$missing" >&2
    # shellcheck disable=SC2086 # one word for each package
    install $missing </dev/null >&2 || echo "setup: apt-get failed, so some may be missing:$missing" >&2
  fi
fi

# npm writes this file last of all: it is older than package-lock.json, or absent, after any change or accident.
installed=node_modules/.package-lock.json
if [ ! -f "$installed" ] || [ -n "$(find package-lock.json -newer "$installed")" ]; then
  echo "setup: installing npm packages" >&2
  npm ci --no-audit --no-fund --loglevel=error </dev/null >&2
fi
