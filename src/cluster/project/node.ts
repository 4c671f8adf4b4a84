/** The Node a proxy runs on. */
import { canonicalIP, familyOf } from '../../net/ip.ts';
import type { NodeValue } from '../values.ts';
import { readCidrs } from './addresses.ts';
import { type Fields, type Findings, fieldsAt, isFields, listAt, quote } from './fields.ts';
import { hasLabel, identify, isIdentified, tagValue } from './metadata.ts';
import type { Projection } from './project.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';
/** Set by the cluster autoscaler before it takes a node away (KEP-3836). */
const LEAVING_TAINT = 'ToBeDeletedByClusterAutoscaler';

/**
 * What a proxy needs of a v1 Node. Of its addresses these are the primary ones: the first InternalIP, else
 * the first ExternalIP, then the first of the other family in the same order (component-helpers'
 * `GetNodeHostIPs`). None while the kubelet or cloud provider has not reported any.
 */
export function projectNode(object: unknown): Projection<NodeValue> {
  const identified = identify('Node', object);
  if (!isIdentified(identified)) return identified;
  const { metadata, findings } = identified;
  const spec = fieldsAt(identified.object, 'spec', 'spec', findings);
  const reported = reportedAddresses(identified.object, findings);
  const value: NodeValue = {
    kind: 'Node',
    name: identified.name,
    addresses: primaryAddresses(reported),
    allAddresses: reported.map(({ address }) => address),
    podCIDRs: readPodCidrs(spec, findings),
    zone: hasLabel(metadata, ZONE_LABEL) ? tagValue(metadata, 'labels', ZONE_LABEL) : '',
    leaving: Boolean(metadata.deletionTimestamp) || hasLeavingTaint(spec, findings),
  };
  return { value, problems: findings.problems };
}

interface ReportedAddress {
  readonly type: 'InternalIP' | 'ExternalIP';
  readonly address: string;
}

/** Host names are of no use to a proxy. */
function reportedAddresses(node: Fields, findings: Findings): ReportedAddress[] {
  const status = fieldsAt(node, 'status', 'status', findings);
  const list = listAt(status, 'addresses', 'status.addresses', findings);
  const reported: ReportedAddress[] = [];
  for (const [index, entry] of list.entries()) {
    if (!isFields(entry) || (entry.type !== 'InternalIP' && entry.type !== 'ExternalIP')) continue;
    const address = typeof entry.address === 'string' ? canonicalIP(entry.address) : undefined;
    if (address === undefined) {
      findings.add(
        `status.addresses[${index}].address`,
        `${quote(entry.address)} is not an IP address; ignored`,
      );
      continue;
    }
    reported.push({ type: entry.type, address });
  }
  return reported;
}

function primaryAddresses(reported: readonly ReportedAddress[]): readonly string[] {
  const ofType = (type: ReportedAddress['type']): string[] =>
    reported.filter((one) => one.type === type).map(({ address }) => address);
  const ordered = [...ofType('InternalIP'), ...ofType('ExternalIP')];
  const [first] = ordered;
  if (first === undefined) return [];
  const second = ordered.find((address) => familyOf(address) !== familyOf(first));
  return second === undefined ? [first] : [first, second];
}

function readPodCidrs(spec: Fields, findings: Findings): readonly string[] {
  const list = listAt(spec, 'podCIDRs', 'spec.podCIDRs', findings);
  if (list.length > 0) return readCidrs(list, 'spec.podCIDRs', findings);
  return spec.podCIDR ? readCidrs([spec.podCIDR], 'spec.podCIDR', findings) : [];
}

function hasLeavingTaint(spec: Fields, findings: Findings): boolean {
  return listAt(spec, 'taints', 'spec.taints', findings).some(
    (taint) => isFields(taint) && taint.key === LEAVING_TAINT,
  );
}
