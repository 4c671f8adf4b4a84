/** EndpointSlices, cut down to what a Service proxy reads (kube-proxy's `pkg/proxy/endpointslicecache.go`). */
import { familyOf } from '../../net/ip.ts';
import type { EndpointValue, IpFamily, SlicePortValue, SliceValue } from '../values.ts';
import { NOT_ORDINARY, readAddress } from './addresses.ts';
import {
  type Fields,
  type Findings,
  fieldsAt,
  isFields,
  isPortNumber,
  listAt,
  NONE,
  quote,
  textAt,
  timeOf,
} from './fields.ts';
import { interned, internedList } from './interned.ts';
import { hasLabel, identify, isIdentified, isObjectName, tagValue } from './metadata.ts';
import type { Projection } from './project.ts';
import { isProtocol } from './service-ports.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
/** Slices of headless Services carry it, whatever its value. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';
const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

const NOTHING: Projection<never> = Object.freeze({ value: undefined, problems: NONE });

/**
 * What a proxy needs of a discovery.k8s.io/v1 EndpointSlice. There is no value, and nothing to say, for slices
 * of headless Services; none for slices without a Service or of address type FQDN, and that is named.
 * Endpoints and ports that cannot be used are left out and named; missing fields get the API's defaults.
 */
export function projectEndpointSlice(object: unknown): Projection<SliceValue> {
  const identified = identify('EndpointSlice', object);
  if (!isIdentified(identified)) return identified;
  const { metadata, findings } = identified;
  if (hasLabel(metadata, HEADLESS_LABEL)) return NOTHING;

  const serviceName = tagValue(metadata, 'labels', SERVICE_NAME_LABEL);
  if (!isObjectName(serviceName)) {
    findings.add(
      `metadata.labels[${SERVICE_NAME_LABEL}]`,
      serviceName === ''
        ? 'is missing, so the slice belongs to no Service; slice ignored'
        : `${quote(serviceName)} is no valid Service name; slice ignored`,
    );
    return { value: undefined, problems: findings.problems };
  }
  const family = identified.object.addressType;
  if (family !== 'IPv4' && family !== 'IPv6') {
    const shown = family === undefined || family === null ? 'missing' : quote(family);
    findings.add('addressType', `is ${shown}, not IPv4 or IPv6; slice ignored`);
    return { value: undefined, problems: findings.problems };
  }

  const value: SliceValue = {
    kind: 'EndpointSlice',
    namespace: identified.namespace,
    name: identified.name,
    serviceName,
    family,
    ports: readPorts(identified.object, findings),
    endpoints: readEndpoints(identified.object, family, findings),
    lastChangeAt: timeOf(tagValue(metadata, 'annotations', TRIGGER_TIME)),
  };
  return { value, problems: findings.problems };
}

function readPorts(slice: Fields, findings: Findings): readonly SlicePortValue[] {
  const list = listAt(slice, 'ports', 'ports', findings);
  if (list.length === 0) return NONE;
  const ports: SlicePortValue[] = [];
  for (const [index, entry] of list.entries()) {
    const port = readPort(entry, `ports[${index}]`, findings);
    if (port !== undefined) ports.push(port);
  }
  return ports;
}

function readPort(entry: unknown, path: string, findings: Findings): SlicePortValue | undefined {
  if (!isFields(entry)) {
    findings.add(path, `is ${quote(entry)}, not an object; ignored`);
    return undefined;
  }
  const { port } = entry;
  if (port === undefined || port === null || port === 0) {
    findings.add(
      `${path}.port`,
      'is missing, and "all ports" is nothing a Service proxy can serve; port ignored',
    );
    return undefined;
  }
  if (!isPortNumber(port)) {
    findings.add(`${path}.port`, `is ${quote(port)}, not a port number; port ignored`);
    return undefined;
  }
  const protocol = entry.protocol ?? 'TCP';
  if (!isProtocol(protocol)) {
    findings.add(`${path}.protocol`, `is ${quote(protocol)}, not TCP, UDP or SCTP; port ignored`);
    return undefined;
  }
  return { name: interned(textAt(entry, 'name', `${path}.name`, findings)), protocol, port };
}

function readEndpoints(slice: Fields, family: IpFamily, findings: Findings): readonly EndpointValue[] {
  const list = listAt(slice, 'endpoints', 'endpoints', findings);
  if (list.length === 0) return NONE;
  const endpoints: EndpointValue[] = [];
  for (const [index, entry] of list.entries()) {
    const path = `endpoints[${index}]`;
    if (!isFields(entry)) {
      findings.add(path, `is ${quote(entry)}, not an object; ignored`);
      continue;
    }
    const endpoint = readEndpoint(entry, path, family, findings);
    if (endpoint !== undefined) endpoints.push(endpoint);
  }
  return endpoints;
}

function readEndpoint(
  entry: Fields,
  path: string,
  family: IpFamily,
  findings: Findings,
): EndpointValue | undefined {
  const address = readFirstAddress(entry, path, family, findings);
  if (address === undefined) return undefined;
  const conditions = fieldsAt(entry, 'conditions', `${path}.conditions`, findings);
  const ready = conditions.ready ?? true;
  const serving = conditions.serving ?? true;
  const terminating = conditions.terminating ?? false;
  if (typeof ready !== 'boolean' || typeof serving !== 'boolean' || typeof terminating !== 'boolean') {
    findings.add(`${path}.conditions`, `${quote(conditions)} are not true or false; endpoint ignored`);
    return undefined;
  }
  const hints = fieldsAt(entry, 'hints', `${path}.hints`, findings);
  return {
    address,
    nodeName: interned(textAt(entry, 'nodeName', `${path}.nodeName`, findings)),
    ready,
    serving,
    terminating,
    zoneHints: readHints(hints, 'forZones', path, findings),
    nodeHints: readHints(hints, 'forNodes', path, findings),
  };
}

/** The API's further addresses are not used by any Service proxy (kubernetes/kubernetes#129886). */
function readFirstAddress(
  entry: Fields,
  path: string,
  family: IpFamily,
  findings: Findings,
): string | undefined {
  const addresses = listAt(entry, 'addresses', `${path}.addresses`, findings);
  if (addresses.length === 0) {
    findings.add(`${path}.addresses`, 'has no address; endpoint ignored');
    return undefined;
  }
  if (addresses.length > 1) {
    const unused = addresses
      .slice(1)
      .map((address) => (typeof address === 'string' ? address : quote(address)));
    findings.add(
      `${path}.addresses`,
      `only the first is used, not ${shorten(unused)}; give each its own endpoint`,
    );
  }
  const address = readAddress(addresses[0], `${path}.addresses[0]`, NOT_ORDINARY, findings);
  if (address !== undefined && familyOf(address) !== family) {
    findings.add(`${path}.addresses[0]`, `${address} is no ${family} address; endpoint ignored`);
    return undefined;
  }
  return address;
}

function shorten(addresses: readonly string[]): string {
  return addresses.length > 3 ? `${addresses.slice(0, 3).join(', ')}, ...` : addresses.join(', ');
}

function readHints(
  hints: Fields,
  group: 'forZones' | 'forNodes',
  path: string,
  findings: Findings,
): readonly string[] {
  const list = listAt(hints, group, `${path}.hints.${group}`, findings);
  if (list.length === 0) return NONE;
  const names: string[] = [];
  for (const hint of list) {
    const name = isFields(hint) ? hint.name : undefined;
    if (typeof name === 'string' && name !== '') names.push(interned(name));
    else findings.add(`${path}.hints.${group}`, `${quote(hint)} names nothing; hint ignored`);
  }
  const [only] = names;
  if (only === undefined) return NONE;
  return names.length === 1 ? internedList(only) : names;
}
