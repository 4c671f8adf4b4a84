/** What is allowed and perhaps not meant: said once at the start. */
import type { IpFamily } from '../cluster/values.ts';
import { familyOf } from '../net/ip.ts';
import type { Options } from './options.ts';

/**
 * kube-proxy's own warnings about node ports (`checkBadConfig` in `cmd/kube-proxy/app/server.go`).
 * @param families those that are served
 */
export function adviceOn(
  { nodeportAddresses, proxyMode }: Pick<Options, 'nodeportAddresses' | 'proxyMode'>,
  families: readonly IpFamily[],
): string[] {
  if (nodeportAddresses === 'primary') return [];
  if (nodeportAddresses === undefined || nodeportAddresses.length === 0) {
    if (nodeportAddresses === undefined && proxyMode === 'nftables') return [];
    return [
      '--nodeport-addresses is not set: node ports answer on all addresses of this node; "primary" keeps them to those of its Node',
    ];
  }
  return families
    .filter((family) => !nodeportAddresses.some((cidr) => familyOf(cidr) === family))
    .map(
      (family) =>
        `--nodeport-addresses has no ${family} network: over ${family} node ports answer on all addresses of this node`,
    );
}
