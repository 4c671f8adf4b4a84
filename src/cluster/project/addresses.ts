/** Lists of addresses and networks in API objects: made canonical, without the duplicates and the unusable. */
import { canonicalCidr, canonicalIP, type SpecialAddress, specialAddress } from '../../net/ip.ts';
import { type Findings, NONE, quote } from './fields.ts';

/** Addresses nobody can be reached at. */
export const UNREACHABLE: readonly SpecialAddress[] = ['unspecified', 'multicast', 'broadcast'];

/** Addresses that mean something else on each machine, and the unreachable: not for endpoints. */
export const NOT_ORDINARY: readonly SpecialAddress[] = [...UNREACHABLE, 'loopback', 'link-local'];

/**
 * One address in canonical form.
 * @param barred kinds of addresses that cannot be used here
 */
export function readAddress(
  value: unknown,
  path: string,
  barred: readonly SpecialAddress[],
  findings: Findings,
): string | undefined {
  const address = typeof value === 'string' ? canonicalIP(value) : undefined;
  if (address === undefined) {
    findings.add(path, `${quote(value)} is not an IP address; ignored`);
    return undefined;
  }
  const special = specialAddress(address);
  if (special !== undefined && barred.includes(special)) {
    findings.add(path, `${address} is ${ARTICLE[special]} ${special} address; ignored`);
    return undefined;
  }
  return address;
}

const ARTICLE: Readonly<Record<SpecialAddress, string>> = {
  unspecified: 'the',
  loopback: 'a',
  'link-local': 'a',
  multicast: 'a',
  broadcast: 'the',
};

/** Addresses in canonical form, in the order of their first mention. */
export function readAddresses(
  values: readonly unknown[],
  path: string,
  barred: readonly SpecialAddress[],
  findings: Findings,
): readonly string[] {
  return distinct(values, (value, index) => readAddress(value, `${path}[${index}]`, barred, findings));
}

/** CIDRs in canonical form, in the order of their first mention. Blanks around them are not minded. */
export function readCidrs(values: readonly unknown[], path: string, findings: Findings): readonly string[] {
  return distinct(values, (value, index) => {
    const cidr = typeof value === 'string' ? canonicalCidr(value.trim()) : undefined;
    if (cidr === undefined) findings.add(`${path}[${index}]`, `${quote(value)} is not a CIDR; ignored`);
    return cidr;
  });
}

function distinct(
  values: readonly unknown[],
  read: (value: unknown, index: number) => string | undefined,
): readonly string[] {
  if (values.length === 0) return NONE;
  const kept = new Set<string>();
  for (const [index, value] of values.entries()) {
    const text = read(value, index);
    if (text !== undefined) kept.add(text);
  }
  return kept.size === 0 ? NONE : [...kept];
}
