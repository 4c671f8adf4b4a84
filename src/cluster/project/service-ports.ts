/** The ports of a Service: those that can be programmed, none twice. */
import type { Protocol, ServicePortValue } from '../values.ts';
import { type Fields, type Findings, isFields, isPortNumber, listAt, NONE, quote } from './fields.ts';
import { interned } from './interned.ts';

/** RFC 1123 label: what the API server demands of a port name. */
const PORT_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isProtocol(value: unknown): value is Protocol {
  return value === 'TCP' || value === 'UDP' || value === 'SCTP';
}

/** The usable ports of a Service's `spec`, in their order. A port that repeats another is left out and named. */
export function readServicePorts(spec: Fields, findings: Findings): readonly ServicePortValue[] {
  const list = listAt(spec, 'ports', 'spec.ports', findings);
  if (list.length === 0) return NONE;
  const ports: ServicePortValue[] = [];
  const taken = new Set<string>();
  for (const [index, entry] of list.entries()) {
    const port = readPort(entry, `spec.ports[${index}]`, findings);
    if (port === undefined) continue;
    // A Service port is known by name and protocol, and traffic finds it by protocol and number.
    const names = [`name ${port.protocol} ${port.name}`, `port ${port.protocol} ${port.port}`];
    if (names.some((name) => taken.has(name))) {
      findings.add(
        `spec.ports[${index}]`,
        `repeats the name or number of another ${port.protocol} port; ignored`,
      );
      continue;
    }
    for (const name of names) taken.add(name);
    ports.push(withFreeNodePort(port, `spec.ports[${index}]`, taken, findings));
  }
  return ports;
}

function readPort(entry: unknown, path: string, findings: Findings): ServicePortValue | undefined {
  if (!isFields(entry)) {
    findings.add(path, `is ${quote(entry)}, not an object; ignored`);
    return undefined;
  }
  const name = entry.name ?? '';
  if (typeof name !== 'string' || (name !== '' && !PORT_NAME.test(name))) {
    findings.add(`${path}.name`, `${quote(name)} is no valid port name; port ignored`);
    return undefined;
  }
  const protocol = entry.protocol ?? 'TCP';
  if (!isProtocol(protocol)) {
    findings.add(`${path}.protocol`, `is ${quote(protocol)}, not TCP, UDP or SCTP; port ignored`);
    return undefined;
  }
  if (!isPortNumber(entry.port)) {
    findings.add(`${path}.port`, `${describe(entry.port)}, not a port number; port ignored`);
    return undefined;
  }
  return {
    name: interned(name),
    protocol,
    port: entry.port,
    nodePort: readNodePort(entry.nodePort, `${path}.nodePort`, findings),
  };
}

function readNodePort(value: unknown, path: string, findings: Findings): number {
  if (value === undefined || value === null || value === 0) return 0;
  if (isPortNumber(value)) return value;
  findings.add(path, `is ${quote(value)}, not a port number; ignored`);
  return 0;
}

function withFreeNodePort(
  port: ServicePortValue,
  path: string,
  taken: Set<string>,
  findings: Findings,
): ServicePortValue {
  if (port.nodePort === 0) return port;
  const name = `node ${port.protocol} ${port.nodePort}`;
  if (taken.has(name)) {
    findings.add(`${path}.nodePort`, `${port.nodePort} is another port's; ignored`);
    return { ...port, nodePort: 0 };
  }
  taken.add(name);
  return port;
}

/** How a message begins that says what a number is not. */
export function describe(value: unknown): string {
  return value === undefined || value === null ? 'is missing' : `is ${quote(value)}`;
}
