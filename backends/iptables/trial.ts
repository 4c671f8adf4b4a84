import type { IpFamily } from '../../src/cluster/values.ts';
import { limitsOf } from './dispatch/layout.ts';
import type { Features } from './features.ts';
import { IptablesModel } from './model.ts';
import { script } from './script.ts';
import type { Tools } from './tools.ts';

/**
 * Lets the tools read the tables and parse the rules that are there whatever the Services. Changes nothing.
 * Rejects with a `ToolError` when they cannot.
 */
export async function trial(tools: Tools, family: IpFamily, features: Features): Promise<void> {
  const node = {
    family,
    detector: { kind: 'none' },
    masqueradeAll: false,
    masqueradeBit: 14,
    nodePortAddresses: 'any',
    serviceCIDRs: [],
  } as const;
  const { delta } = new IptablesModel(family, limitsOf('flat')).change(
    { full: true, services: new Map(), node },
    // A counter that does not exist yet is refused.
    { ...features, counters: false },
  );
  const present = await tools.save('filter');
  const missingChains = delta.missingChains.filter((chain) => !present.has(chain));
  const [restore, ...args] = tools.restoreArgv();
  for (const input of script({ ...delta, missingChains }, Number.POSITIVE_INFINITY)) {
    await tools.run([restore, '--test', ...args], input);
  }
}
