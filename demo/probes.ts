/** Who connects to what in the demo, and what should come of it. The Services are in `manifests/`. */
import type { ProxyMode } from '../src/reconcile/backend.ts';
import type { Host } from '../test/support/network/topology.ts';
import type { ProbeProtocol } from '../test/support/probe/protocol.ts';

/** What should come of the tries of one probe. */
export type Expected =
  | {
      /** Every one of these addresses answers, and no other. */
      readonly answers: readonly string[];
      /** One client meets one of them only. */
      readonly sticky?: true;
      /** Whom the pods see: the client itself, or the node in its place. */
      readonly client: 'kept' | 'node';
    }
  | { readonly failure: 'refused' | 'timeout' };

export interface Probe {
  readonly from: Extract<Host, 'client1' | 'ext'>;
  readonly address: string;
  readonly port: number;
  readonly protocol: ProbeProtocol;
  readonly expect: Expected;
  /** What that means, in plain words. */
  readonly meaning: string;
}

export interface Story {
  readonly service: string;
  /** What is special about it. */
  readonly about: string;
  readonly probes: readonly Probe[];
  /** The mode it is about; absent for all. */
  readonly mode?: ProxyMode;
}

/** The Service that gets 300 connections, and whose rules are shown. */
export const WEB = {
  service: 'shop/web',
  manifest: 'web.yaml',
  address: '10.96.0.10',
  port: 80,
  replicas: ['10.244.1.2', '10.244.2.2', '10.244.2.3'],
  /** What it is scaled up to. */
  moreReplicas: ['10.244.1.2', '10.244.1.3', '10.244.2.2', '10.244.2.3', '10.244.2.6'],
} as const;

const NODE = '172.30.0.11';

const STORIES: readonly Story[] = [
  {
    service: 'shop/entry',
    about: 'a node port, externalTrafficPolicy Cluster',
    probes: [
      {
        from: 'ext',
        address: NODE,
        port: 30080,
        protocol: 'tcp',
        expect: { answers: ['10.244.1.4', '10.244.2.4'], client: 'node' },
        meaning: "from outside: pods of every node; client address replaced by node1's",
      },
    ],
  },
  {
    service: 'shop/audit',
    about: 'a node port, externalTrafficPolicy Local',
    probes: [
      {
        from: 'ext',
        address: NODE,
        port: 30081,
        protocol: 'tcp',
        expect: { answers: ['10.244.1.5'], client: 'kept' },
        meaning: "from outside: node1's own pod alone; client address kept",
      },
      {
        from: 'client1',
        address: NODE,
        port: 30081,
        protocol: 'tcp',
        expect: { answers: ['10.244.1.5', '10.244.2.5'], client: 'kept' },
        meaning: 'from a pod: the policy is for outsiders, so pods of every node; client address kept',
      },
    ],
  },
  {
    service: 'shop/names',
    about: 'dual-stack, UDP and TCP',
    probes: [
      {
        from: 'client1',
        address: '10.96.0.14',
        port: 53,
        protocol: 'udp',
        expect: { answers: ['10.244.1.7', '10.244.2.7'], client: 'kept' },
        meaning: 'UDP over IPv4: both pods; client address kept',
      },
      {
        from: 'client1',
        address: 'fd00:10:96::14',
        port: 53,
        protocol: 'udp',
        expect: { answers: ['fd00:244:1::7', 'fd00:244:2::7'], client: 'kept' },
        meaning: 'UDP over IPv6: the same pods at their IPv6 addresses; client address kept',
      },
      {
        from: 'client1',
        address: 'fd00:10:96::14',
        port: 53,
        protocol: 'tcp',
        expect: { answers: ['fd00:244:1::7', 'fd00:244:2::7'], client: 'kept' },
        meaning: 'TCP over IPv6: likewise',
      },
    ],
  },
  {
    service: 'shop/cart',
    about: 'session affinity, ClientIP for 10 minutes',
    probes: [
      {
        from: 'client1',
        address: '10.96.0.15',
        port: 80,
        protocol: 'tcp',
        expect: { answers: ['10.244.1.8', '10.244.2.8'], sticky: true, client: 'kept' },
        meaning: 'one client stays with the pod it met first',
      },
    ],
  },
  {
    service: 'shop/office',
    about: 'a load balancer address for 172.30.0.48/29 only',
    probes: [
      {
        from: 'ext',
        address: '203.0.113.16',
        port: 80,
        protocol: 'tcp',
        expect: { answers: ['10.244.1.9', '10.244.2.9'], client: 'node' },
        meaning: "from an allowed address (172.30.0.50): both pods; client address replaced by node1's",
      },
      {
        from: 'client1',
        address: '203.0.113.16',
        port: 80,
        protocol: 'tcp',
        expect: { failure: 'timeout' },
        meaning: 'from any other address: dropped without an answer',
      },
    ],
  },
  {
    service: 'shop/stock',
    about: 'no endpoint is ready',
    probes: [
      {
        from: 'client1',
        address: '10.96.0.13',
        port: 80,
        protocol: 'tcp',
        expect: { failure: 'refused' },
        meaning: 'nobody to answer: refused at once, so that no client waits',
      },
    ],
  },
  {
    service: 'shop/web',
    about: 'a port that the Service does not have',
    mode: 'nftables',
    probes: [
      {
        from: 'client1',
        address: '10.96.0.10',
        port: 81,
        protocol: 'tcp',
        expect: { failure: 'refused' },
        meaning: 'the cluster IP exists, the port does not: refused',
      },
    ],
  },
];

/** What there is to show of a mode. */
export function storiesOf(shown: ProxyMode): readonly Story[] {
  return STORIES.filter(({ mode }) => mode === undefined || mode === shown);
}

/** `10.96.0.14:53/udp`, `[fd00:10:96::14]:53`: TCP goes without saying. */
export function targetText({ address, port, protocol }: Omit<Probe, 'from' | 'expect' | 'meaning'>): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return `${host}:${port}${protocol === 'tcp' ? '' : `/${protocol}`}`;
}
