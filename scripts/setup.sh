#!/bin/sh
# Brings what a fresh machine lacks: Debian's packages (as root) and the npm packages. Quiet and quick when all is there.
set -eu
cd "$(dirname "$0")/.."

missing=
need() { command -v "$1" >/dev/null 2>&1 || PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need nft nftables
need iptables-restore iptables
need ip iproute2
need conntrack conntrack
if [ -n "$missing" ]; then
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "setup: installing$missing" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >&2
  else
    echo "setup: missing, and not root on a Debian system:$missing. What needs them will say so." >&2
  fi
fi

if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "setup: installing npm packages" >&2
  npm ci --no-audit --no-fund --loglevel=error >&2
fi
