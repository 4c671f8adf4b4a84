/** Rules as both variants of iptables print them: a restart recognises what is there. */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IpFamily } from '../../src/cluster/values.ts';
import type { IptablesVariant } from '../../src/node/iptables-variant.ts';
import type { LocalDetector } from '../../src/plan/plan.ts';
import { buildNodePlan } from '../../test/support/build.ts';
import { iptablesSupported, SUFFIX } from '../../test/support/iptables.ts';
import { createNamespace, type LoneNamespace } from '../../test/support/namespace.ts';
import { IPVS_WAYS } from '../iptables/skeleton.ts';
import { JUMPS, renderRules } from './chains.ts';
import { knownRules, parseTables } from './listing.ts';
import { NO_RULES, restoreLines } from './restore.ts';
import { SET_KINDS } from './sets.ts';
import { createAllSets } from './steps.ts';

function whyNot(variant: IptablesVariant): string | undefined {
  const supported = iptablesSupported(variant);
  if (!supported.ok) return supported.reason;
  const { error, status, stderr } = spawnSync('unshare', ['--net', '--', 'ipset', 'create', 'A', 'hash:ip'], {
    encoding: 'utf8',
  });
  return error?.message ?? (status === 0 ? undefined : stderr.trim());
}

const ALL = new Set(SET_KINDS);

describe.each<IptablesVariant>(['nf_tables', 'legacy'])('iptables of variant %s', (variant) => {
  const reason = whyNot(variant);
  let place: LoneNamespace | undefined;
  beforeAll(async () => {
    if (reason === undefined) place = await createNamespace();
  });
  afterAll(() => place?.close());

  describe.each<IpFamily>(['IPv4', 'IPv6'])('%s', (family) => {
    const detectors: readonly LocalDetector[] = [
      { kind: 'none' },
      { kind: 'cidr', cidr: family === 'IPv4' ? '10.244.0.0/16' : 'fd00:244::/32' },
      { kind: 'interface', name: 'cni0' },
      { kind: 'interface-prefix', prefix: 'veth' },
    ];

    it.each(detectors)('prints what it was given, detector $kind', async (detector) => {
      if (place === undefined) return;
      const { runner } = place;
      const tool = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}${SUFFIX[variant]}`;
      await runner.run({ argv: ['ipset', '-exist', 'restore'], stdin: createAllSets(family) });
      for (const parity of [false, true]) {
        const node = buildNodePlan({ family, detector, masqueradeBit: 31 });
        const rules = renderRules(node, ALL, parity);
        const before = knownRules(parseTables((await runner.run({ argv: [`${tool}-save`] })).stdout));
        await runner.run({ argv: [`${tool}-restore`, '--noflush'], stdin: restoreLines(before, rules) });
        const { stdout } = await runner.run({ argv: [`${tool}-save`] });
        expect(restoreLines(knownRules(parseTables(stdout)), rules)).toEqual([]);
        expect(restoreLines(NO_RULES, rules).length).toBeGreaterThan(50);
      }
    });
  });
});

describe('rules', () => {
  it('are there for sets that have entries', () => {
    const node = buildNodePlan();
    const services = (used: readonly (typeof SET_KINDS)[number][]) =>
      renderRules(node, new Set(used), false).nat.get('KUBE-SERVICES');
    expect(services([])).toEqual([
      '-s 127.0.0.0/8 -j RETURN',
      '-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT',
    ]);
    expect(services(['KUBE-LOAD-BALANCER'])).toEqual([
      '-s 127.0.0.0/8 -j RETURN',
      '-m comment --comment "Kubernetes service lb portal" -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER',
      '-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT',
      '-m set --match-set KUBE-LOAD-BALANCER dst,dst -j ACCEPT',
    ]);
  });

  it('have names that sets of IPv6 can have', () => {
    const rules = renderRules(buildNodePlan({ family: 'IPv6' }), ALL, false);
    expect(rules.filter.get('KUBE-SOURCE-RANGES-FIREWALL')?.[0]).toBe(
      '-m comment --comment "Kubernetes service load balancer ip + port + source cidr for packet filter purpose" -m set --match-set KUBE-6-LOAD-BALANCER-SOURCE-CID dst,dst,src -j RETURN',
    );
  });
});

it('comes into the firewall chain where iptables mode looks for it', () => {
  expect(
    JUMPS.filter
      .filter(([, rule]) => rule.endsWith(' KUBE-PROXY-FIREWALL'))
      .map(([chain, rule]) => ({
        chain: `filter ${chain}`,
        rule,
      })),
  ).toEqual(IPVS_WAYS);
});
