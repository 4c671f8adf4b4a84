import { describe, expect, it } from 'vitest';
import type { ServicePlan } from '../../src/plan/plan.ts';
import { planService } from '../../src/plan/service-plan.ts';
import {
  buildContext,
  buildEndpoint,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { commentText, endpointBase, hashedName, serviceBase } from './names.ts';

function planOf(namespace: string, name: string, portName: string): ServicePlan {
  const [plan] = planService(
    buildService({ namespace, name, ports: [buildPort({ name: portName })] }),
    [buildSlice([buildEndpoint('10.180.0.1')])],
    buildContext(),
  );
  if (plan === undefined) throw new Error('no plan');
  return plan;
}

describe('names are kube-proxy’s', () => {
  const plan = planOf('ns1', 'svc1', 'p80');

  it('of a Service port', () => {
    expect(serviceBase(plan)).toBe('ULMVA6XW-ns1/svc1/tcp/p80');
  });

  it('of an endpoint', () => {
    expect(endpointBase(plan, { address: '10.180.0.1', port: 80, maybeHere: true })).toBe(
      '5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80',
    );
  });

  it('with dots for the colons of an IPv6 address', () => {
    expect(endpointBase(plan, { address: 'fd00::1', port: 80, maybeHere: true })).toMatch(
      /^[A-Z2-7]{8}-ns1\/svc1\/tcp\/p80__fd00\.\.1\/80$/,
    );
  });

  it('cut at 240 characters, told apart by the hash in front', () => {
    const one = hashedName(`${'a'.repeat(300)}1`);
    const other = hashedName(`${'a'.repeat(300)}2`);
    expect(one).toHaveLength(240);
    expect(one).toMatch(/a\.\.\.$/);
    expect(one).not.toBe(other);
  });
});

describe('comments', () => {
  it('are clipped to what the kernel keeps', () => {
    expect(commentText(`${'n'.repeat(62)}/${'s'.repeat(63)}:http`)).toBe(
      `${'n'.repeat(62)}/${'s'.repeat(63)}:`,
    );
    expect(commentText(`${'n'.repeat(62)}/${'s'.repeat(63)}:http`)).toHaveLength(127);
  });

  it('cannot end the string they stand in', () => {
    expect(commentText('a"; flush ruleset\n#ü')).toBe('a_; flush ruleset___');
  });
});
