import { describe, expect, it } from 'vitest';
import { planService } from '../../src/plan/service-plan.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { limitsOf } from './dispatch/layout.ts';
import { DEFAULT_FEATURES } from './features.ts';
import { IptablesModel } from './model.ts';
import type { ChainId } from './names.ts';
import { collectScript, script } from './script.ts';

const node = buildNodePlan({ nodePortAddresses: 'any' });

function plans(name: string, endpoints: readonly string[]) {
  const service = buildService({
    name,
    type: 'NodePort',
    ports: [buildPort({ nodePort: 30080 })],
  });
  const slices = [
    buildSlice(
      endpoints.map((address) => buildEndpoint(address)),
      { serviceName: name },
    ),
  ];
  return new Map([[`default/${name}`, planService(service, slices, buildContext())]]);
}

/** A model that has written these. */
function written(services: ReturnType<typeof plans>): IptablesModel {
  const model = new IptablesModel('IPv4', limitsOf('auto'));
  model.change({ node, services, full: true }, DEFAULT_FEATURES).commit();
  return model;
}

function textOf(model: IptablesModel, services: ReturnType<typeof plans>): string {
  const { delta } = model.change({ node, services, full: false }, DEFAULT_FEATURES);
  return script(delta, 1000)
    .map((input) => input.join(''))
    .join('--\n');
}

describe('script', () => {
  it('rewrites the chains of a Service whose endpoints change, and no shared one', () => {
    const model = written(plans('web', ['10.244.1.2']));
    expect(textOf(model, plans('web', ['10.244.1.2', '10.244.1.3']))).toBe(`*nat
:KUBE-SEP-2AZ33KU3V5PGPQZH - [0:0]
:KUBE-SVC-CDGGSHYLG3RE2FKL - [0:0]
-A KUBE-SEP-2AZ33KU3V5PGPQZH -s 10.244.1.3/32 -m comment --comment "default/web:http" -j KUBE-MARK-MASQ
-A KUBE-SEP-2AZ33KU3V5PGPQZH -p tcp -m comment --comment "default/web:http" -m tcp -j DNAT --to-destination 10.244.1.3:8080
-A KUBE-SVC-CDGGSHYLG3RE2FKL ! -s 10.244.0.0/16 -d 10.96.0.10/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-CDGGSHYLG3RE2FKL -m comment --comment "default/web:http -> 10.244.1.2:8080" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-UIQK3OSOSTRHRPBX
-A KUBE-SVC-CDGGSHYLG3RE2FKL -m comment --comment "default/web:http -> 10.244.1.3:8080" -j KUBE-SEP-2AZ33KU3V5PGPQZH
COMMIT
`);
  });

  it('refuses before it takes the endpoints away, and refuses no more once they are back', () => {
    const gone = textOf(written(plans('web', ['10.244.1.2'])), plans('web', []));
    expect(gone).toBe(`*filter
-I KUBE-SERVICES 1 -d 10.96.0.10/32 -p tcp -m comment --comment "default/web:http has no endpoints" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable
-I KUBE-EXTERNAL-SERVICES 1 -p tcp -m comment --comment "default/web:http has no endpoints" -m addrtype --dst-type LOCAL -m tcp --dport 30080 -j REJECT --reject-with icmp-port-unreachable
COMMIT
*nat
-D KUBE-NODEPORTS -p tcp -m comment --comment "default/web:http" -m tcp --dport 30080 -j KUBE-EXT-CDGGSHYLG3RE2FKL
-D KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-CDGGSHYLG3RE2FKL
COMMIT
`);
    const back = textOf(written(plans('web', [])), plans('web', ['10.244.1.2']));
    expect(back.match(/^\*\w+|^-[ID] KUBE-\S+/gm)).toEqual([
      '*nat',
      '-I KUBE-NODEPORTS',
      '-I KUBE-SERVICES',
      '*filter',
      '-D KUBE-SERVICES',
      '-D KUBE-EXTERNAL-SERVICES',
    ]);
  });

  it('writes what everything is reached through in the last of several inputs', () => {
    const endpoints = Array.from({ length: 20 }, (_, index) => `10.244.1.${index + 2}`);
    const { delta } = new IptablesModel('IPv4', limitsOf('auto')).change(
      { node, services: plans('web', endpoints), full: true },
      DEFAULT_FEATURES,
    );
    const inputs = script(delta, 10).map((input) => input.join(''));
    const declared = inputs.map((input) => input.match(/^:\S+/gm)?.length);
    // 20 endpoint chains, KUBE-MARK-MASQ, the Service's two; then the shared chains and the canaries.
    expect(declared).toEqual([10, 10, 3, 11]);
    expect(inputs.slice(0, -1).join('')).not.toMatch(/-I |KUBE-SERVICES|CANARY/);
    expect(inputs.at(-1)).toContain('-I PREROUTING ');
  });
});

describe('taking over from IPVS mode', () => {
  it('lets connections through before it drops what was not let through, and takes IPVS’s ways out of the firewall', () => {
    const way = '-m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL';
    const observed = {
      own: new Map<ChainId, string[]>([
        ['filter KUBE-PROXY-FIREWALL', ['-m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j DROP']],
        ['nat KUBE-SERVICES', ['-m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT']],
      ]),
      foreign: new Map<ChainId, string[]>([
        ['filter INPUT', ['-j KUBE-IPVS-FILTER', way]],
        ['filter FORWARD', [way]],
      ]),
    };
    const change = { node, services: plans('web', ['10.244.1.2']), full: true };
    const model = new IptablesModel('IPv4', limitsOf('auto'));
    const planned = model.change(change, DEFAULT_FEATURES, observed);
    const [text = ''] = script(planned.delta, 1000).map((input) => input.join(''));
    expect(text.match(/^\*\w+|^-D .*$/gm)).toEqual([
      '*nat',
      '-D KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT',
      '*filter',
      `-D INPUT ${way}`,
      `-D FORWARD ${way}`,
      '*filter',
      '-D KUBE-PROXY-FIREWALL -m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j DROP',
      '*mangle',
    ]);
    planned.commit();
    expect(model.change(change, DEFAULT_FEATURES).delta.obsolete).toEqual([]);
  });
});

describe('collectScript', () => {
  it('empties all chains before the first goes', () => {
    expect(collectScript(['nat KUBE-SVC-A', 'nat KUBE-SEP-B', 'filter KUBE-SVC-10.0.0.0/8'], 1000)).toEqual([
      [
        '*nat\n',
        ':KUBE-SVC-A - [0:0]\n',
        ':KUBE-SEP-B - [0:0]\n',
        '-X KUBE-SVC-A\n',
        '-X KUBE-SEP-B\n',
        'COMMIT\n',
      ],
      ['*filter\n', ':KUBE-SVC-10.0.0.0/8 - [0:0]\n', '-X KUBE-SVC-10.0.0.0/8\n', 'COMMIT\n'],
    ]);
  });

  it('does so in inputs of their own when they are many', () => {
    const inputs = collectScript(['nat KUBE-SVC-A', 'nat KUBE-SEP-B', 'nat KUBE-SEP-C'], 2);
    expect(inputs.map((input) => input.slice(1, -1))).toEqual([
      [':KUBE-SVC-A - [0:0]\n', ':KUBE-SEP-B - [0:0]\n'],
      [':KUBE-SEP-C - [0:0]\n'],
      ['-X KUBE-SVC-A\n', '-X KUBE-SEP-B\n'],
      ['-X KUBE-SEP-C\n'],
    ]);
  });

  it('does nothing for nothing', () => {
    expect(collectScript([], 1000)).toEqual([]);
  });
});
