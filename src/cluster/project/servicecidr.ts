/** The networks cluster IPs are allocated from (KEP-1880). */
import type { ServiceCidrValue } from '../values.ts';
import { readCidrs } from './addresses.ts';
import { fieldsAt, listAt } from './fields.ts';
import { identify, isIdentified } from './metadata.ts';
import type { Projection } from './project.ts';

/** What a proxy needs of a networking.k8s.io/v1 ServiceCIDR: its networks, in canonical form. */
export function projectServiceCidr(object: unknown): Projection<ServiceCidrValue> {
  const identified = identify('ServiceCIDR', object);
  if (!isIdentified(identified)) return identified;
  const { findings } = identified;
  const spec = fieldsAt(identified.object, 'spec', 'spec', findings);
  const cidrs = readCidrs(listAt(spec, 'cidrs', 'spec.cidrs', findings), 'spec.cidrs', findings);
  return { value: { kind: 'ServiceCIDR', name: identified.name, cidrs }, problems: findings.problems };
}
