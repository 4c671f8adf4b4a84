import { expect, test } from 'vitest';
import { buildEndpoint, buildService, buildSlice } from '../../test/support/build.ts';
import type { EndpointValue, ServiceValue, SliceValue } from '../cluster/values.ts';
import { HealthCheckedServices } from './health-ports.ts';

function service(name: string, healthCheckNodePort: number, clusterIPs: string[]): ServiceValue {
  return buildService({ name, healthCheckNodePort, clusterIPs });
}

function endpoint(address: string, given: Partial<EndpointValue> = {}): EndpointValue {
  return buildEndpoint(address, { nodeName: 'worker-1', ...given });
}

function slice(family: SliceValue['family'], ...endpoints: EndpointValue[]): SliceValue {
  return buildSlice(endpoints, { family });
}

const SLICES = [
  slice(
    'IPv4',
    endpoint('10.244.1.1'),
    endpoint('10.244.1.2', { ready: false, terminating: true }),
    endpoint('10.244.2.1', { nodeName: 'worker-2' }),
    endpoint('10.244.1.3', { nodeName: '' }),
  ),
  slice('IPv4', endpoint('10.244.1.1'), endpoint('10.244.1.4')),
  slice('IPv6', endpoint('fd00::1')),
];

const WEB = service('web', 32000, ['10.96.0.1', 'fd00:96::1']);

function health(services: HealthCheckedServices, family: 'IPv4' | 'IPv6') {
  return Object.fromEntries(
    services.health(family, 'worker-1', (key) => (key === 'default/web' ? SLICES : [])),
  );
}

test('distinct ready endpoints of this node count, family by family', () => {
  const services = new HealthCheckedServices();
  services.values('Service', new Map([['default/web', WEB]]));
  services.value('Service', 'default/idle', service('idle', 32001, ['10.96.0.2']));
  services.value('Service', 'default/plain', service('plain', 0, ['10.96.0.3']));
  expect(health(services, 'IPv4')).toEqual({
    'default/web': { port: 32000, localEndpoints: 2 },
    'default/idle': { port: 32001, localEndpoints: 0 },
  });
  expect(health(services, 'IPv6')).toEqual({ 'default/web': { port: 32000, localEndpoints: 1 } });
});

test('Services come, change and go', () => {
  const services = new HealthCheckedServices();
  services.value('Service', 'default/web', WEB);
  services.value('Service', 'default/web', { ...WEB, healthCheckNodePort: 0 });
  expect(health(services, 'IPv4')).toEqual({});
  services.value('Service', 'default/web', WEB);
  services.value('EndpointSlice', 'default/web', undefined);
  expect(Object.keys(health(services, 'IPv4'))).toEqual(['default/web']);
  services.value('Service', 'default/web', undefined);
  expect(health(services, 'IPv4')).toEqual({});
  services.value('Service', 'default/web', WEB);
  services.values('EndpointSlice', new Map());
  expect(Object.keys(health(services, 'IPv4'))).toEqual(['default/web']);
  services.values('Service', new Map());
  expect(health(services, 'IPv4')).toEqual({});
});
