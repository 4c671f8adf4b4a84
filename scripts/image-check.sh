#!/bin/sh
# Builds the image (image.sh) and runs it as the manifests say, in each mode, and in place of kube-proxy as kubeadm has it:
# with runc, in network namespaces of its own, against an API server of its own. Needs root, buildah, debootstrap and runc;
# takes what image.sh takes. The last line adds up; ends with 1 when a check failed.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH:/usr/sbin:/sbin"
export IMAGE_STORAGE="${IMAGE_STORAGE:-$PWD/.cache/image}"

command -v runc >/dev/null || {
  echo "image-check: there is no runc; install it: apt-get install --no-install-recommends runc" >&2
  exit 1
}
tag=$(sh scripts/image.sh)
buildah() {
  command buildah --root "$IMAGE_STORAGE/images" --runroot "$IMAGE_STORAGE/run" "$@" </dev/null
}
container=$(buildah from --pull-never "$tag")
namespace=krs-$$-image
log=$(mktemp)
leave() {
  ip netns delete "$namespace" 2>/dev/null || true
  buildah rm "$container" >/dev/null
  rm -f "$log"
}
trap leave EXIT
trap 'exit 130' INT TERM
root=$(buildah mount "$container")

passed=0
failed=0
skipped=0
for pod in nftables iptables kubeadm ipvs; do
  echo "== $pod"
  if [ "$pod" = ipvs ] && [ ! -e /proc/net/ip_vs ]; then
    echo "skipped: this kernel has no IPVS, or has not loaded it (modprobe ip_vs)"
    skipped=$((skipped + 1))
    continue
  fi
  ip netns add "$namespace"
  # Not with `ip netns exec`: that hides the cgroups, which runc needs.
  code=0
  nsenter --net="/run/netns/$namespace" node scripts/image-check.ts "$root" "$pod" >"$log" 2>&1 || code=$?
  cat "$log"
  ip netns delete "$namespace"
  counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
  # shellcheck disable=SC2086 # two numbers
  set -- ${counts:-0 0}
  passed=$((passed + $1))
  failed=$((failed + $2))
  if [ "$code" -ne 0 ] && [ -z "$counts" ]; then failed=$((failed + 1)); fi
done
echo "== the image: $(buildah images --format '{{.Size}}' "$tag")"
line="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then line="$line, $skipped skipped"; fi
echo "$line"
[ "$failed" -eq 0 ]
