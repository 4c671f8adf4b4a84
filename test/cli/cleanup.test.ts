/** `cleanup` as a user runs it: what it could not remove is named, and it may be run again. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { iptablesSupported } from '../support/iptables.ts';
import { createNamespace, type LoneNamespace } from '../support/namespace.ts';
import { NET_ADMIN_ALONE } from '../support/rights.ts';
import { cli } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const supported = iptablesSupported('legacy');
const name = 'cleanup beside rules of iptables-legacy';

describe.skipIf(!supported.ok)(supported.ok ? name : `${name} (skipped: ${supported.reason})`, () => {
  let place: LoneNamespace;
  beforeEach(async () => {
    place = await createNamespace();
  });
  afterEach(() => place.close());

  it('says that they may be there when it may not look at them, and removes them when it may', async () => {
    const nat = (...args: string[]) => place.runner.run({ argv: ['iptables-legacy', '-t', 'nat', ...args] });
    await nat('-N', 'KUBE-SERVICES');
    await nat('-I', 'PREROUTING', '-j', 'KUBE-SERVICES');
    const inside = ['ip', 'netns', 'exec', place.name];

    const few = await cli(['cleanup'], { prefix: [...inside, ...NET_ADMIN_ALONE] });
    expect(few.code).toBe(1);
    expect(few.stderr).toContain(
      'whatever iptables-legacy has (iptables IPv4) is still there: it cannot be read: iptables-legacy-save: ',
    );
    expect(few.stderr).toContain('Permission denied');
    expect((await nat('-S')).stdout).toContain('-A PREROUTING -j KUBE-SERVICES');

    for (const _ of ['first', 'second']) {
      expect(await cli(['cleanup'], { prefix: inside })).toMatchObject({ code: 0 });
      expect((await nat('-S')).stdout).not.toContain('KUBE');
    }
  });
});
