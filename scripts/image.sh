#!/bin/sh
# Builds the image of the Dockerfile with buildah, from a Debian that debootstrap made in place of the one that a
# registry has: `scripts/image.sh [tag]`, default kube-rulesync:dev. For machines that reach Debian's and npm's packages
# and no image registry; elsewhere `docker build` does it. Needs root, buildah and debootstrap. Prints the tag on stdout.
#   BASE_ROOT=/path      a Debian trixie that debootstrap has made already; it is copied
#   IMAGE_STORAGE=/path  where buildah keeps its images (default: .cache/image)
set -eu
cd "$(dirname "$0")/.."

tag=${1:-localhost/kube-rulesync:dev}
# What the Dockerfile names, without the digest: what debootstrap makes has another.
base=docker.io/library/debian:trixie-slim
storage=${IMAGE_STORAGE:-$PWD/.cache/image}

fail() {
  echo "image: $*" >&2
  exit 1
}
[ "$(id -u)" -eq 0 ] || fail "needs root"
for tool in buildah debootstrap; do
  command -v "$tool" >/dev/null || fail "there is no $tool; install it: apt-get install --no-install-recommends $tool"
done

mkdir -p "$storage"
buildah() {
  command buildah --root "$storage/images" --runroot "$storage/run" "$@" </dev/null
}

# A base image as Docker's debian:trixie-slim is: minbase, no documentation, a quick dpkg, an apt that keeps nothing.
make_base() {
  root=$storage/trixie
  if [ -n "${BASE_ROOT:-}" ]; then
    root=$BASE_ROOT
  elif [ ! -e "$root/etc/debian_version" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase trixie "$root" http://deb.debian.org/debian >&2
  fi
  container=$(buildah from scratch)
  mounted=$(buildah mount "$container")
  cp -a "$root/." "$mounted/"
  rm -rf "$mounted"/var/lib/apt/lists/* "$mounted"/var/cache/apt/*.bin "$mounted"/var/cache/apt/archives/*.deb
  for directory in doc info locale man; do
    rm -rf "${mounted:?}/usr/share/$directory"
    echo "path-exclude /usr/share/$directory/*"
  done >"$mounted/etc/dpkg/dpkg.cfg.d/docker"
  echo force-unsafe-io >"$mounted/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
  cat >"$mounted/etc/apt/apt.conf.d/docker-clean" <<'APT'
APT::Keep-Downloaded-Packages "false";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };
APT
  buildah umount "$container" >&2
  buildah commit --quiet "$container" "$base" >&2
  buildah rm "$container" >&2
}

buildah inspect --type image "$base" >/dev/null 2>&1 || make_base

# Where npm is told of a certificate authority of the house, the build needs it too.
set -- --isolation chroot --pull-never --layers --build-arg "BASE=$base" --tag "$tag"
authority=${NODE_EXTRA_CA_CERTS:-}
if [ -n "$authority" ]; then
  cp -L "$authority" "$storage/authority.pem"
  echo cafile=/mnt/authority.pem >"$storage/npmrc"
  set -- "$@" --volume "$storage/authority.pem:/mnt/authority.pem:ro" --volume "$storage/npmrc:/etc/npmrc:ro"
fi
buildah bud "$@" . >&2
echo "$tag"
