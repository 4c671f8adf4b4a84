/** Services, cut down to what a Service proxy reads (kube-proxy's `pkg/proxy/serviceport.go`). */
import { familyOf } from '../../net/ip.ts';
import type { IpFamily, ServiceValue, TrafficPolicy } from '../values.ts';
import { NOT_ORDINARY, readAddress, readAddresses, readCidrs, UNREACHABLE } from './addresses.ts';
import {
  choiceAt,
  type Fields,
  type Findings,
  fieldsAt,
  isFields,
  isPortNumber,
  listAt,
  NONE,
  quote,
  timeOf,
} from './fields.ts';
import { interned } from './interned.ts';
import { hasLabel, identify, isIdentified, tagValue } from './metadata.ts';
import type { Projection } from './project.ts';
import { readServicePorts } from './service-ports.ts';

/** A Service with this label, whatever its value, belongs to another proxy (KEP-2447). */
export const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';

/** Ours: the IPVS scheduler of this Service's virtual servers, before `--ipvs-scheduler`. */
const SCHEDULER_ANNOTATION = 'kube-rulesync.io/ipvs-scheduler';

/** What the API server fills in for ClientIP affinity without a timeout: three hours. */
const DEFAULT_AFFINITY_SECONDS = 10_800;
const MAX_AFFINITY_SECONDS = 86_400;

const POLICIES: readonly [TrafficPolicy, ...TrafficPolicy[]] = ['Cluster', 'Local'];

const NOT_SERVED: Projection<never> = Object.freeze({ value: undefined, problems: NONE });

/**
 * What a proxy needs of a v1 Service. There is no value, and nothing to say, for Services that have no
 * cluster IP (headless, or not allocated yet), of type ExternalName, or of another proxy. Parts that cannot
 * be used are left out and named; missing fields get the API's defaults.
 */
export function projectService(object: unknown): Projection<ServiceValue> {
  const identified = identify('Service', object);
  if (!isIdentified(identified)) return identified;
  const { metadata, findings } = identified;
  if (hasLabel(metadata, PROXY_NAME_LABEL)) return NOT_SERVED;

  const spec = fieldsAt(identified.object, 'spec', 'spec', findings);
  const type = choiceAt(spec, 'type', 'spec.type', SERVICE_TYPES, findings);
  const givenIPs = givenClusterIPs(spec, findings);
  if (type === 'ExternalName' || givenIPs.length === 0)
    return { value: undefined, problems: findings.problems };
  const clusterIPs = readClusterIPs(givenIPs, findings);
  if (clusterIPs.length === 0) return { value: undefined, problems: findings.problems };

  const sourceRanges = listAt(spec, 'loadBalancerSourceRanges', SOURCE_RANGES, findings);
  const externalTrafficPolicy = choiceAt(
    spec,
    'externalTrafficPolicy',
    'spec.externalTrafficPolicy',
    POLICIES,
    findings,
  );
  const ipvsScheduler = tagValue(metadata, 'annotations', SCHEDULER_ANNOTATION);
  const value: ServiceValue = {
    kind: 'Service',
    namespace: identified.namespace,
    name: identified.name,
    createdAt: timeOf(metadata.creationTimestamp),
    type,
    clusterIPs,
    externalIPs: readAddresses(
      listAt(spec, 'externalIPs', 'spec.externalIPs', findings),
      'spec.externalIPs',
      NOT_ORDINARY,
      findings,
    ),
    loadBalancerIPs: readLoadBalancerIPs(identified.object, findings),
    sourceRanges: readCidrs(sourceRanges, SOURCE_RANGES, findings),
    restrictedFamilies: familiesSpokenOf(sourceRanges),
    externalTrafficPolicy,
    internalTrafficPolicy: choiceAt(
      spec,
      'internalTrafficPolicy',
      'spec.internalTrafficPolicy',
      POLICIES,
      findings,
    ),
    affinitySeconds: readAffinity(spec, findings),
    healthCheckNodePort:
      type === 'LoadBalancer' && externalTrafficPolicy === 'Local' ? readHealthCheckPort(spec, findings) : 0,
    ...(ipvsScheduler === '' ? {} : { ipvsScheduler: interned(ipvsScheduler) }),
    ports: readServicePorts(spec, findings),
  };
  return { value, problems: findings.problems };
}

const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const;
const SOURCE_RANGES = 'spec.loadBalancerSourceRanges';

/** `clusterIPs`, or the one `clusterIP` of objects that are older than dual-stack; none when headless. */
function givenClusterIPs(spec: Fields, findings: Findings): readonly unknown[] {
  const list = listAt(spec, 'clusterIPs', 'spec.clusterIPs', findings);
  const single = spec.clusterIP;
  if (single === 'None' || list[0] === 'None') return NONE;
  if (list.length > 0) return list;
  return single === undefined || single === null || single === '' ? NONE : [single];
}

/** The first usable address of each family. */
function readClusterIPs(given: readonly unknown[], findings: Findings): readonly string[] {
  const kept: string[] = [];
  for (const [index, text] of given.entries()) {
    const path = given.length === 1 ? 'spec.clusterIP' : `spec.clusterIPs[${index}]`;
    const address = readAddress(text, path, UNREACHABLE, findings);
    if (address === undefined || kept.includes(address)) continue;
    if (kept.some((other) => familyOf(other) === familyOf(address))) {
      findings.add(path, `${address} is a second ${familyOf(address)} address; ignored`);
    } else {
      kept.push(address);
    }
  }
  return kept;
}

/** Addresses of the load balancer, but for those whose traffic does not arrive as such (KEP-1860). */
function readLoadBalancerIPs(service: Fields, findings: Findings): readonly string[] {
  const status = fieldsAt(service, 'status', 'status', findings);
  const loadBalancer = fieldsAt(status, 'loadBalancer', 'status.loadBalancer', findings);
  const ingress = listAt(loadBalancer, 'ingress', 'status.loadBalancer.ingress', findings);
  if (ingress.length === 0) return NONE;
  const kept = new Set<string>();
  for (const [index, entry] of ingress.entries()) {
    const path = `status.loadBalancer.ingress[${index}]`;
    if (!isFields(entry)) {
      findings.add(path, `is ${quote(entry)}, not an object; ignored`);
      continue;
    }
    const { ip } = entry;
    if (ip === undefined || ip === null || ip === '') continue;
    if (choiceAt(entry, 'ipMode', `${path}.ipMode`, IP_MODES, findings) === 'Proxy') continue;
    const address = readAddress(ip, `${path}.ip`, UNREACHABLE, findings);
    if (address !== undefined) kept.add(address);
  }
  return kept.size === 0 ? NONE : [...kept];
}

const IP_MODES = ['VIP', 'Proxy'] as const;

const NO_FAMILY: readonly IpFamily[] = Object.freeze([]);
const ONLY_IPV4: readonly IpFamily[] = Object.freeze(['IPv4']);
const ONLY_IPV6: readonly IpFamily[] = Object.freeze(['IPv6']);
const BOTH_FAMILIES: readonly IpFamily[] = Object.freeze(['IPv4', 'IPv6']);

/**
 * Which families source ranges are about. An entry that cannot be read counts for the family it looks like,
 * and for both when it looks like neither.
 */
function familiesSpokenOf(ranges: readonly unknown[]): readonly IpFamily[] {
  let ipv4 = false;
  let ipv6 = false;
  for (const range of ranges) {
    const looksLikeIPv6 = typeof range === 'string' && range.includes(':');
    const looksLikeIPv4 = typeof range === 'string' && range.includes('.');
    ipv6 ||= looksLikeIPv6 || !looksLikeIPv4;
    ipv4 ||= looksLikeIPv4 || !looksLikeIPv6;
  }
  if (ipv4) return ipv6 ? BOTH_FAMILIES : ONLY_IPV4;
  return ipv6 ? ONLY_IPV6 : NO_FAMILY;
}

function readAffinity(spec: Fields, findings: Findings): number {
  if (choiceAt(spec, 'sessionAffinity', 'spec.sessionAffinity', AFFINITIES, findings) === 'None') return 0;
  const path = 'spec.sessionAffinityConfig';
  const config = fieldsAt(spec, 'sessionAffinityConfig', path, findings);
  const clientIP = fieldsAt(config, 'clientIP', `${path}.clientIP`, findings);
  const seconds = clientIP.timeoutSeconds;
  if (seconds === undefined || seconds === null) return DEFAULT_AFFINITY_SECONDS;
  if (
    typeof seconds === 'number' &&
    Number.isInteger(seconds) &&
    seconds > 0 &&
    seconds <= MAX_AFFINITY_SECONDS
  )
    return seconds;
  findings.add(
    `${path}.clientIP.timeoutSeconds`,
    `is ${quote(seconds)}, not a number of seconds from 1 to ${MAX_AFFINITY_SECONDS}; ` +
      `taken as ${DEFAULT_AFFINITY_SECONDS}`,
  );
  return DEFAULT_AFFINITY_SECONDS;
}

const AFFINITIES = ['None', 'ClientIP'] as const;

function readHealthCheckPort(spec: Fields, findings: Findings): number {
  const port = spec.healthCheckNodePort;
  if (port === undefined || port === null || port === 0) return 0;
  if (isPortNumber(port)) return port;
  findings.add('spec.healthCheckNodePort', `is ${quote(port)}, not a port number; ignored`);
  return 0;
}
