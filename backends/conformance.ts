/**
 * What every back end does, whatever its kernel facility: one suite, which each back end's test passes through a
 * factory. A test that a back end cannot pass is skipped with its reason, and both stand in the parity table.
 */
import { describe, expect, it } from 'vitest';
import type { IpFamily, ObjectKey, ServiceValue, SliceValue } from '../src/cluster/values.ts';
import { canonicalIP } from '../src/net/ip.ts';
import type { CommandRunner } from '../src/node/runner.ts';
import type { NodePlan, ServicePlan } from '../src/plan/plan.ts';
import { Planner } from '../src/plan/planner.ts';
import type { Backend, Change, Diff } from '../src/reconcile/backend.ts';
import { findCulprits } from '../src/reconcile/narrow.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../test/support/build.ts';

export interface ConformanceOptions {
  readonly name: string;
  createBackend(family: IpFamily, runner: CommandRunner): Backend;
  /** A place of its own for one test, and what takes it away. */
  createPlace(): Promise<{ readonly runner: CommandRunner; close(): Promise<void> }>;
  /** Everything the back end may have put into the kernel, as text that does not depend on history. */
  snapshot(family: IpFamily, runner: CommandRunner): Promise<string>;
  /** Puts something of somebody else's there, and says whether it is still there. */
  readonly foreign: {
    add(runner: CommandRunner): Promise<void>;
    isThere(runner: CommandRunner): Promise<boolean>;
  };
  /** Breaks something the back end wrote. */
  damage(family: IpFamily, runner: CommandRunner): Promise<void>;
  readonly skip?: readonly { readonly test: string; readonly reason: string }[];
}

export function describeConformance(options: ConformanceOptions): void {
  const skipped = new Map(options.skip?.map(({ test, reason }) => [test, reason]));
  const test = (name: string, run: (bench: Bench) => Promise<void>): void => {
    const reason = skipped.get(name);
    if (reason !== undefined) {
      it.skip(`${name} (${reason})`, () => undefined);
      return;
    }
    for (const family of ['IPv4', 'IPv6'] as const) {
      it(`${name}, ${family}`, async () => {
        const place = await options.createPlace();
        try {
          await run(new Bench(options, family, place.runner));
        } finally {
          await place.close();
        }
      });
    }
  };

  describe(`${options.name} back end`, () => {
    test('can work here', async (bench) => {
      expect(await bench.backend.probe()).toMatchObject({ usable: true, missing: [] });
    });

    test('has nothing to do a second time, nor after a restart', async (bench) => {
      await bench.sync(EVERYTHING);
      expect(bench.diff(EVERYTHING, true).steps).toEqual([]);
      const restarted = bench.restarted();
      await restarted.backend.observe();
      expect(lines(restarted.diff(EVERYTHING, true))).toEqual([]);
      expect(await restarted.backend.audit()).toEqual([]);
    });

    test('gives the same text for the same Services in any order', async (bench) => {
      const forwards = lines(bench.diff(EVERYTHING, true));
      const backwards = lines(bench.diff([...EVERYTHING].reverse(), true));
      expect(backwards).toEqual(forwards);
      expect(forwards.length).toBeGreaterThan(10);
    });

    test('plans nothing into its memory before commit', async (bench) => {
      const first = lines(bench.diff(EVERYTHING, true));
      expect(lines(bench.diff(EVERYTHING, true))).toEqual(first);
      await bench.sync(EVERYTHING);
      const change = lines(bench.diff(SCALED, false));
      expect(change.length).toBeGreaterThan(0);
      expect(lines(bench.diff(SCALED, false))).toEqual(change);
    });

    for (const [name, steps] of Object.entries(JOURNEYS)) {
      test(`arrives at the same rules step by step as at once: ${name}`, async (bench) => {
        const last = steps.at(-1) ?? [];
        await bench.sync(steps[0] ?? []);
        for (const step of steps.slice(1)) await bench.change(step);
        await bench.collect();
        const stepwise = await bench.snapshot();
        expect(await bench.backend.audit()).toEqual([]);
        const fresh = await options.createPlace();
        try {
          const other = new Bench(options, bench.family, fresh.runner);
          await other.sync(last);
          expect(stepwise).toBe(await other.snapshot());
        } finally {
          await fresh.close();
        }
      });
    }

    test('writes as little for a change among many Services as among few', async (bench) => {
      const cost = async (count: number): Promise<number> => {
        const crowd = Array.from({ length: count }, (_, index) => plain(index));
        const other = new Bench(options, bench.family, bench.runner);
        await other.sync(crowd);
        return lines(other.diff([plain(1, 5)], false)).length;
      };
      const few = await cost(5);
      expect(few).toBeGreaterThan(0);
      expect(await cost(60)).toBe(few);
    });

    test('finds the Service that the tool refuses', async (bench) => {
      const change = bench.toChange(EVERYTHING, true);
      const bad = spoiled(bench.plansOf(plain(7)));
      const services = new Map([...change.services, ['default/svc-7', bad] as const]);
      const culprits = await findCulprits(bench.backend, { ...change, services });
      expect([...culprits.keys()]).toEqual(['default/svc-7']);
      expect([...(await findCulprits(bench.backend, change)).keys()]).toEqual([]);
    });

    test('notices what somebody else broke, and mends it', async (bench) => {
      await bench.sync(EVERYTHING);
      const good = await bench.snapshot();
      expect(await bench.backend.audit()).toEqual([]);
      await options.damage(bench.family, bench.runner);
      expect(await bench.backend.audit()).not.toEqual([]);
      await bench.sync(EVERYTHING);
      await bench.collect();
      expect(await bench.snapshot()).toBe(good);
      expect(await bench.backend.audit()).toEqual([]);
    });

    test('cleans up what is its own, twice if asked, and nothing else', async (bench) => {
      const empty = await bench.snapshot();
      await options.foreign.add(bench.runner);
      await bench.sync(EVERYTHING);
      expect(await bench.snapshot()).not.toBe(empty);
      expect(await bench.backend.cleanup()).toEqual([]);
      expect(await bench.snapshot()).toBe(empty);
      expect(await bench.backend.cleanup()).toEqual([]);
      expect(await options.foreign.isThere(bench.runner)).toBe(true);
    });
  });
}

/** A back end in a place, and the planning in front of it. */
class Bench {
  readonly options: ConformanceOptions;
  readonly family: IpFamily;
  readonly runner: CommandRunner;
  readonly backend: Backend;
  #services = new Map<ObjectKey, readonly ServicePlan[]>();

  constructor(options: ConformanceOptions, family: IpFamily, runner: CommandRunner) {
    this.options = options;
    this.family = family;
    this.runner = runner;
    this.backend = options.createBackend(family, runner);
  }

  restarted(): Bench {
    return new Bench(this.options, this.family, this.runner);
  }

  snapshot(): Promise<string> {
    return this.options.snapshot(this.family, this.runner);
  }

  /** Reads the kernel and brings it to exactly these. */
  async sync(cases: readonly Case[]): Promise<void> {
    await this.backend.observe();
    await this.#apply(this.diff(cases, true));
    this.#services = new Map(this.toChange(cases, true).services);
  }

  /** Brings it to exactly these by telling what changed. */
  async change(cases: readonly Case[]): Promise<void> {
    const wanted = this.toChange(cases, true).services;
    const services = new Map<ObjectKey, readonly ServicePlan[]>();
    for (const key of this.#services.keys()) if (!wanted.has(key)) services.set(key, []);
    for (const [key, plans] of wanted) services.set(key, plans);
    await this.#apply(this.backend.diff({ node: this.#node(), services, full: false }));
    this.#services = new Map(wanted);
  }

  async collect(): Promise<void> {
    await this.#apply(this.backend.collect());
  }

  diff(cases: readonly Case[], full: boolean): Diff {
    return this.backend.diff(this.toChange(cases, full));
  }

  toChange(cases: readonly Case[], full: boolean): Change {
    const byKey = new Map(cases.map((one) => [`default/${one.service.name}`, one]));
    const planner = new Planner(
      {
        service: (key) => byKey.get(key) && localised(byKey.get(key)?.service, this.family),
        slicesOf: (key) => byKey.get(key)?.slices.map((slice) => localisedSlice(slice, this.family)) ?? [],
      },
      buildContext(this.family === 'IPv4' ? {} : V6_CONTEXT),
    );
    return { node: this.#node(), services: planner.update(byKey.keys()).plans, full };
  }

  plansOf(one: Case): readonly ServicePlan[] {
    return this.toChange([one], true).services.get(`default/${one.service.name}`) ?? [];
  }

  #node(): NodePlan {
    return this.family === 'IPv4' ? V4_NODE : V6_NODE;
  }

  async #apply(diff: Diff): Promise<void> {
    for (const step of diff.steps) await this.backend.apply(step);
    diff.commit();
  }
}

interface Case {
  readonly service: ServiceValue;
  readonly slices: readonly SliceValue[];
}

const V4_NODE = buildNodePlan();
const V6_CONTEXT = {
  family: 'IPv6',
  detector: { kind: 'cidr', cidr: 'fd00:244::/32' },
  nodeAddresses: ['fd00:30::11'],
  podCIDRs: ['fd00:244:1::/64'],
} as const;
const V6_NODE = buildNodePlan({
  family: 'IPv6',
  detector: V6_CONTEXT.detector,
  nodePortAddresses: ['fd00:30::11'],
  serviceCIDRs: ['fd00:10:96::/112'],
});

/** The cases are written in IPv4; the other family sees the same numbers in its own notation. */
function toFamily(address: string, family: IpFamily): string {
  if (family === 'IPv4') return address;
  const [a, b, c, d] = address.split('.');
  return canonicalIP(`fd00:${a}:${b}::${c}:${d}`) ?? address;
}

function localised(service: ServiceValue | undefined, family: IpFamily): ServiceValue | undefined {
  if (service === undefined || family === 'IPv4') return service;
  const all = (list: readonly string[]) => list.map((address) => toFamily(address, family));
  return {
    ...service,
    clusterIPs: all(service.clusterIPs),
    externalIPs: all(service.externalIPs),
    loadBalancerIPs: all(service.loadBalancerIPs),
    sourceRanges: service.sourceRanges.map((cidr) => `${toFamily(cidr.replace(/\/.*/, ''), family)}/128`),
    restrictedFamilies: service.restrictedFamilies.length > 0 ? ['IPv6'] : [],
  };
}

function localisedSlice(slice: SliceValue, family: IpFamily): SliceValue {
  return {
    ...slice,
    family,
    endpoints: slice.endpoints.map((one) => ({ ...one, address: toFamily(one.address, family) })),
  };
}

function lines(diff: Diff): string[] {
  return diff.steps.flatMap((step) => [step.argv.join(' '), ...step.stdin]);
}

/** A port that no tool takes: what a bug, or a manifest nobody checked, would give. */
function spoiled(plans: readonly ServicePlan[]): ServicePlan[] {
  return plans.map((plan) => ({
    ...plan,
    frontEnds: plan.frontEnds.map((frontEnd) => ({ ...frontEnd, port: 70_000 })),
  }));
}

function named(name: string, fields: Partial<ServiceValue>, endpoints: readonly string[]): Case {
  return {
    service: buildService({ name, ...fields }),
    slices: [
      buildSlice(
        endpoints.map((address) =>
          buildEndpoint(address, { nodeName: address.startsWith('10.244.1.') ? 'node1' : 'node2' }),
        ),
        { name: `${name}-a`, serviceName: name },
      ),
    ],
  };
}

/** A Service like most: one cluster IP, `endpoints` endpoints. */
function plain(index: number, endpoints = 3): Case {
  return named(
    `svc-${index}`,
    { clusterIPs: [`10.96.1.${index + 1}`] },
    Array.from({ length: endpoints }, (_, number) => `10.244.${1 + (number % 2)}.${2 + index + number}`),
  );
}

const LOCAL_AND_REMOTE = ['10.244.1.2', '10.244.1.3', '10.244.2.2'];

const NODE_PORT: Case = named(
  'node-port',
  { type: 'NodePort', clusterIPs: ['10.96.0.2'], ports: [buildPort({ nodePort: 30002 })] },
  LOCAL_AND_REMOTE,
);
const LOCAL_POLICY: Case = named(
  'local-policy',
  {
    type: 'LoadBalancer',
    clusterIPs: ['10.96.0.3'],
    loadBalancerIPs: ['203.0.113.3'],
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31003,
    ports: [buildPort({ nodePort: 30003 })],
  },
  LOCAL_AND_REMOTE,
);
const RANGES: Case = named(
  'ranges',
  {
    type: 'LoadBalancer',
    clusterIPs: ['10.96.0.4'],
    loadBalancerIPs: ['203.0.113.4'],
    sourceRanges: ['198.51.100.1/32', '198.51.100.2/32'],
    restrictedFamilies: ['IPv4'],
  },
  LOCAL_AND_REMOTE,
);
const AFFINE: Case = named('affine', { clusterIPs: ['10.96.0.5'], affinitySeconds: 300 }, LOCAL_AND_REMOTE);
const EMPTY: Case = named('empty', { clusterIPs: ['10.96.0.6'], externalIPs: ['203.0.113.6'] }, []);
const MULTI_PORT: Case = {
  service: buildService({
    name: 'multi-port',
    clusterIPs: ['10.96.0.7'],
    ports: [
      buildPort(),
      buildPort({ name: 'dns', protocol: 'UDP', port: 53 }),
      buildPort({ name: 'dns-tcp', port: 53 }),
    ],
  }),
  slices: [
    buildSlice([buildEndpoint('10.244.1.2'), buildEndpoint('10.244.2.2', { nodeName: 'node2' })], {
      name: 'multi-port-a',
      serviceName: 'multi-port',
      ports: [
        { name: 'http', protocol: 'TCP', port: 8080 },
        { name: 'dns', protocol: 'UDP', port: 8053 },
        { name: 'dns-tcp', protocol: 'TCP', port: 8053 },
      ],
    }),
  ],
};

const EVERYTHING: readonly Case[] = [
  plain(0),
  plain(1),
  NODE_PORT,
  LOCAL_POLICY,
  RANGES,
  AFFINE,
  EMPTY,
  MULTI_PORT,
];
const SCALED: readonly Case[] = [plain(0, 1)];

function withEndpoints(one: Case, endpoints: readonly string[]): Case {
  return named(one.service.name, one.service, endpoints);
}

/** Each is a series of contents; only the first is told in full. */
const JOURNEYS: Record<string, readonly (readonly Case[])[]> = {
  'endpoints come and go': [
    EVERYTHING,
    EVERYTHING.map((one) => withEndpoints(one, ['10.244.2.9'])),
    EVERYTHING.map((one) => withEndpoints(one, [])),
    EVERYTHING.map((one) => withEndpoints(one, ['10.244.1.2', '10.244.1.4', '10.244.2.2', '10.244.2.3'])),
  ],
  'Services come and go': [[], EVERYTHING, [plain(0)], [NODE_PORT, AFFINE], EVERYTHING],
  'everything goes': [EVERYTHING, []],
  'a Service changes its kind': [
    [NODE_PORT],
    [{ ...NODE_PORT, service: { ...NODE_PORT.service, externalTrafficPolicy: 'Local' } }],
    [{ ...NODE_PORT, service: { ...NODE_PORT.service, affinitySeconds: 60 } }],
    [
      {
        ...NODE_PORT,
        service: { ...NODE_PORT.service, affinitySeconds: 120, internalTrafficPolicy: 'Local' },
      },
    ],
    [{ ...NODE_PORT, service: { ...NODE_PORT.service, ports: [buildPort({ nodePort: 30099 })] } }],
  ],
  'an address moves from one Service to another': [
    [plain(0), { ...EMPTY, service: { ...EMPTY.service, externalIPs: ['203.0.113.9'] } }],
    [
      { ...plain(0), service: { ...plain(0).service, externalIPs: ['203.0.113.9'] } },
      { ...EMPTY, service: { ...EMPTY.service, externalIPs: [] } },
    ],
  ],
};
