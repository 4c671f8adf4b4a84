import { describe, expect, it } from 'vitest';
import type { ServiceValue, SliceValue } from '../../src/cluster/values.ts';
import type { NodePlan } from '../../src/plan/plan.ts';
import { Planner } from '../../src/plan/planner.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { IpvsObjects } from './objects.ts';
import { problemsOf, type RenderContext, renderNode, renderPlan } from './render.ts';
import type { IpvsSettings } from './settings.ts';

const BOTH = [buildEndpoint('10.244.1.2'), buildEndpoint('10.244.2.2', { nodeName: 'node2' })];
const REMOTE = [buildEndpoint('10.244.2.2', { nodeName: 'node2' })];

function plansOf(fields: Partial<ServiceValue>, slices: readonly SliceValue[]) {
  const service = buildService(fields);
  const planner = new Planner({ service: () => service, slicesOf: () => slices }, buildContext());
  return planner.update(['default/web']).plans.get('default/web') ?? [];
}

function render(
  fields: Partial<ServiceValue>,
  slices: readonly SliceValue[],
  settings: IpvsSettings = {},
  node: Partial<NodePlan> = {},
) {
  const context: RenderContext = {
    node: buildNodePlan({ localAddresses: ['10.244.1.1', '172.30.0.11'], ...node }),
    settings,
  };
  const out = new IpvsObjects();
  const plans = plansOf(fields, slices);
  for (const plan of plans) renderPlan(plan, context, out);
  return {
    servers: Object.fromEntries(
      [...out.servers].map(([key, { options, servers }]) => [
        `${key} ${options}`,
        [...servers].map(([server, rest]) => `${server} ${rest}`),
      ]),
    ),
    sets: Object.fromEntries([...out.sets].map(([kind, entries]) => [kind, [...entries]])),
    addresses: [...out.addresses],
    problems: problemsOf(plans, context).map(({ field, message }) => `${field}: ${message}`),
  };
}

describe('a cluster IP', () => {
  it('is a virtual server, an address of the dummy link, and an entry', () => {
    expect(render({}, [buildSlice(BOTH)])).toEqual({
      servers: {
        '-t 10.96.0.10:80 -s rr': ['10.244.1.2:8080 -m -w 1', '10.244.2.2:8080 -m -w 1'],
      },
      sets: {
        'KUBE-CLUSTER-IP': ['10.96.0.10,tcp:80'],
        'KUBE-IPVS-IPS': ['10.96.0.10'],
        'KUBE-LOOP-BACK': ['10.244.1.2,tcp:8080,10.244.1.2'],
      },
      addresses: ['10.96.0.10'],
      problems: [],
    });
  });

  it('has the scheduler that is set, and the affinity of its Service', () => {
    const keys = (settings: IpvsSettings) =>
      Object.keys(render({ affinitySeconds: 300 }, [], settings).servers);
    expect(keys({ scheduler: 'lc' })).toEqual(['-t 10.96.0.10:80 -s lc -p 300']);
    expect(keys({ scheduler: 'mh' })).toEqual(['-t 10.96.0.10:80 -s mh -p 300 -b mh-fallback,mh-port']);
    expect(keys({ scheduler: 'mh', parity: true })).toEqual(['-t 10.96.0.10:80 -s mh -p 300 -b mh-port']);
    expect(keys({ scheduler: 'sh' })).toEqual(['-t 10.96.0.10:80 -s sh -p 300 -b sh-fallback']);
  });

  it('refuses by having no real servers when there are no endpoints', () => {
    const { servers, sets } = render({}, []);
    expect(servers).toEqual({ '-t 10.96.0.10:80 -s rr': [] });
    expect(Object.keys(sets)).toEqual(['KUBE-CLUSTER-IP', 'KUBE-IPVS-IPS']);
  });

  it('drops under internal policy Local without a local endpoint, and refuses with parity', () => {
    const local = { internalTrafficPolicy: 'Local' } as const;
    expect(render(local, [buildSlice(REMOTE)])).toMatchObject({
      servers: { '-t 10.96.0.10:80 -s rr': [] },
      sets: { 'KUBE-DROP': ['10.96.0.10,tcp:80'] },
    });
    expect(render(local, [buildSlice(REMOTE)], { parity: true }).sets).not.toHaveProperty('KUBE-DROP');
  });

  it('speaks UDP and SCTP', () => {
    const { servers, sets } = render(
      {
        ports: [
          buildPort({ name: 'a', protocol: 'UDP', port: 53 }),
          buildPort({ name: 'b', protocol: 'SCTP', port: 99, nodePort: 30099 }),
        ],
      },
      [],
    );
    expect(Object.keys(servers)).toEqual([
      '-u 10.96.0.10:53 -s rr',
      '--sctp-service 10.96.0.10:99 -s rr',
      '--sctp-service 172.30.0.11:30099 -s rr',
    ]);
    expect(sets['KUBE-CLUSTER-IP']).toEqual(['10.96.0.10,udp:53', '10.96.0.10,sctp:99']);
    expect(sets['KUBE-NODE-PORT-SCTP-HASH']).toEqual(['172.30.0.11,sctp:30099']);
  });
});

describe('a node port', () => {
  const ports = [buildPort({ nodePort: 30080 })];

  it('is a virtual server on each address of the node, or on those that are chosen', () => {
    const keys = (node: Partial<NodePlan>) =>
      Object.keys(render({ ports }, [], {}, node).servers).filter((key) => key.includes(':30080'));
    expect(keys({ nodePortAddresses: 'any' })).toEqual([
      '-t 10.244.1.1:30080 -s rr',
      '-t 172.30.0.11:30080 -s rr',
    ]);
    expect(keys({ nodePortAddresses: ['172.30.0.11'] })).toEqual(['-t 172.30.0.11:30080 -s rr']);
  });

  it('under policy Local keeps traffic local and its clients’ addresses', () => {
    const { servers, sets } = render({ ports, externalTrafficPolicy: 'Local' }, [buildSlice(BOTH)]);
    expect(servers['-t 172.30.0.11:30080 -s rr']).toEqual(['10.244.1.2:8080 -m -w 1']);
    expect(sets['KUBE-NODE-PORT-TCP']).toEqual(['30080']);
    expect(sets['KUBE-NODE-PORT-LOCAL-TCP']).toEqual(['30080']);
  });

  it('under policy Local without a local endpoint serves those inside, and drops the others', () => {
    const local = { ports, externalTrafficPolicy: 'Local' } as const;
    const { servers, sets } = render(local, [buildSlice(REMOTE)]);
    expect(servers['-t 172.30.0.11:30080 -s rr']).toEqual(['10.244.2.2:8080 -m -w 1']);
    expect(sets['KUBE-DROP-EXTERNAL']).toEqual(['172.30.0.11,tcp:30080']);
    const { sets: withParity } = render(local, [buildSlice(REMOTE)], { parity: true });
    expect(withParity).not.toHaveProperty('KUBE-DROP-EXTERNAL');
  });

  it('is known by the addresses it answers on', () => {
    const out = new IpvsObjects();
    renderNode({ node: buildNodePlan({ nodePortAddresses: ['172.30.0.11'] }), settings: {} }, out);
    expect([...out.entries('KUBE-NODE-PORT-IP')]).toEqual(['172.30.0.11']);
  });
});

describe('a load balancer', () => {
  it('admits by address and port, and its own address as the node’s source', () => {
    const { sets } = render(
      {
        loadBalancerIPs: ['203.0.113.3', '203.0.113.4'],
        sourceRanges: ['172.30.0.0/24', '198.51.100.7/32'],
        restrictedFamilies: ['IPv4'],
      },
      [buildSlice(BOTH)],
    );
    expect(sets['KUBE-LOAD-BALANCER-FW']).toEqual(['203.0.113.3,tcp:80', '203.0.113.4,tcp:80']);
    expect(sets['KUBE-LOAD-BALANCER-SOURCE-CIDR']).toEqual([
      '203.0.113.3,tcp:80,172.30.0.0/24',
      '203.0.113.3,tcp:80,198.51.100.7',
      '203.0.113.4,tcp:80,172.30.0.0/24',
      '203.0.113.4,tcp:80,198.51.100.7',
    ]);
    expect(sets['KUBE-LOAD-BALANCER-SOURCE-IP']).toEqual([
      '203.0.113.3,tcp:80,203.0.113.3',
      '203.0.113.3,tcp:80,203.0.113.4',
      '203.0.113.4,tcp:80,203.0.113.3',
      '203.0.113.4,tcp:80,203.0.113.4',
    ]);
  });

  it('has its health check port let in', () => {
    const { sets } = render(
      { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31003 },
      [buildSlice(BOTH)],
    );
    expect(sets['KUBE-HEALTH-CHECK-NODE-PORT']).toEqual(['31003']);
  });
});

describe('the annotation for a scheduler', () => {
  const options = (ipvsScheduler: string, settings: IpvsSettings = {}) => {
    const { servers, problems } = render({ ipvsScheduler }, [], settings);
    return { servers: Object.keys(servers), problems };
  };

  it('goes before the node’s', () => {
    expect(options('lc', { scheduler: 'wrr' })).toEqual({
      servers: ['-t 10.96.0.10:80 -s lc'],
      problems: [],
    });
    expect(options('mh').servers).toEqual(['-t 10.96.0.10:80 -s mh -b mh-fallback,mh-port']);
    expect(options('', { scheduler: 'wrr' }).servers).toEqual(['-t 10.96.0.10:80 -s wrr']);
  });

  it('is named and left aside where no kernel knows it, or more than a name is in it', () => {
    for (const text of ['round-robin', 'lc -p 1\n-C']) {
      const { servers, problems } = options(text, { scheduler: 'sh' });
      expect(servers).toEqual(['-t 10.96.0.10:80 -s sh -b sh-fallback']);
      expect(problems).toEqual([
        `metadata.annotations[kube-rulesync.io/ipvs-scheduler]: ${JSON.stringify(text)} is none of rr, wrr, lc, wlc, lblc, lblcr, dh, sh, sed, nq, fo, ovf, mh; the node's is used`,
      ]);
    }
  });
});

describe('an external address', () => {
  it('of the node’s own is served but not put on the dummy link, and named', () => {
    const { servers, addresses, sets, problems } = render(
      { externalIPs: ['172.30.0.11', '203.0.113.9'] },
      [],
    );
    expect(Object.keys(servers)).toContain('-t 172.30.0.11:80 -s rr');
    expect(addresses).toEqual(['10.96.0.10', '203.0.113.9']);
    expect(sets['KUBE-IPVS-IPS']).toEqual(['10.96.0.10', '203.0.113.9']);
    expect(problems).toEqual([
      'spec.externalIPs: 172.30.0.11 is an address of this node: it is served, and not put on the dummy link',
    ]);
  });

  it('of another Node is not put on the dummy link, so that this node reaches that one, and named', () => {
    const { servers, addresses, sets, problems } = render(
      { externalIPs: ['172.30.0.12', '203.0.113.9'], loadBalancerIPs: ['172.30.0.13'] },
      [],
      {},
      { claimedNodeAddresses: ['172.30.0.12', '172.30.0.13'] },
    );
    expect(Object.keys(servers)).toContain('-t 172.30.0.12:80 -s rr');
    expect(addresses).toEqual(['10.96.0.10', '203.0.113.9']);
    expect(sets['KUBE-IPVS-IPS']).toEqual(['10.96.0.10', '203.0.113.9']);
    expect(problems).toEqual([
      'status.loadBalancer.ingress: 172.30.0.13 is an address of another Node: it is not put on the dummy link, so that this node still reaches that one',
      'spec.externalIPs: 172.30.0.12 is an address of another Node: it is not put on the dummy link, so that this node still reaches that one',
    ]);
  });

  it('that is excluded is left alone, and named', () => {
    const settings = { excludeCIDRs: ['203.0.113.0/24'] };
    const { servers, addresses, sets, problems } = render({ externalIPs: ['203.0.113.9'] }, [], settings);
    expect(Object.keys(servers)).toEqual(['-t 10.96.0.10:80 -s rr']);
    expect(addresses).toEqual(['10.96.0.10']);
    expect(sets).not.toHaveProperty('KUBE-EXTERNAL-IP');
    expect(problems).toEqual([
      'spec.externalIPs: 203.0.113.9 is in 203.0.113.0/24, which is excluded from IPVS: this address is not served',
    ]);
  });
});
