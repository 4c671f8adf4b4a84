# The image of kube-rulesync. /usr/local/bin/kube-proxy in it is kube-rulesync too, so that it can take the place of
# kube-proxy's image and nothing else need change. docs/install.md tells how to use it.
#
#   docker build --tag kube-rulesync:dev .
#
# Both stages start from Debian 13, pinned to an index of all architectures. To take a newer one:
#   docker buildx imagetools inspect debian:trixie-slim
#   docker build --build-arg BASE=docker.io/library/debian:trixie-slim@sha256:… .
ARG BASE=docker.io/library/debian:trixie-slim@sha256:a29215f6a35e51e22adffa17f89e9d2ef06214e64a2bad10d765c46aea49f11f

# Debian's npm runs on Debian's Node.js, and installs the Node.js that package-lock.json names, by its checksum. That one
# does the build, and is the one that the image runs on. (Tag and digest are in BASE, where hadolint does not look.)
# hadolint ignore=DL3006
FROM ${BASE} AS build
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates=202* nodejs=20.* npm=9.* \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --no-log-init --create-home --uid 10001 build
USER build
WORKDIR /home/build
COPY --chown=build:build package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY --chown=build:build LICENSE ./
COPY --chown=build:build scripts/build.ts scripts/
COPY --chown=build:build backends backends
COPY --chown=build:build src src
RUN mkdir -p root/usr/local/bin root/usr/local/lib root/usr/local/share/licenses/node \
  && cp node_modules/node-linux-*/bin/node root/usr/local/bin/ \
  && cp node_modules/node-linux-*/LICENSE root/usr/local/share/licenses/node/ \
  && root/usr/local/bin/node scripts/build.ts root/usr/local/lib/kube-rulesync \
  && cp LICENSE root/usr/local/lib/kube-rulesync/ \
  && ln -s ../lib/kube-rulesync/kube-rulesync.js root/usr/local/bin/kube-rulesync \
  && ln -s ../lib/kube-rulesync/kube-rulesync.js root/usr/local/bin/kube-proxy

# hadolint ignore=DL3006
FROM ${BASE}
LABEL org.opencontainers.image.title="kube-rulesync" \
  org.opencontainers.image.description="kube-proxy's job on Node.js: programs a node for Kubernetes Services" \
  org.opencontainers.image.licenses="Apache-2.0"
# The versions say what is relied on: nft 1.1 can list what another nft 1.1 wrote; the package iptables 1.8 has both
# variants, iptables-nft and iptables-legacy, and kube-rulesync takes the one that kubelet uses.
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    conntrack=1:1.4.* \
    iproute2=6.* \
    ipset=7.* \
    iptables=1.8.* \
    ipvsadm=1:1.31-* \
    kmod=34* \
    nfacct=1.0.* \
    nftables=1.1.* \
    procps=2:4.* \
  && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/apt /var/log/dpkg.log
COPY --from=build --chown=0:0 /home/build/root/ /
# No flags for Node.js: its heap is sized after the container's memory limit, to about half of it. No USER: the kernel
# tools want root, and the manifests leave it NET_ADMIN alone.
ENTRYPOINT ["/usr/local/bin/kube-rulesync"]
