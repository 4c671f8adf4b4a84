import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseListing } from './listing.ts';
import type { Table } from './model.ts';

function listed(file: string, table: string): Table {
  const text = readFileSync(new URL(`../../../test/fixtures/nft/${file}`, import.meta.url), 'utf8');
  const found = parseListing(text).tables.get(table);
  if (found === undefined) throw new Error(`no table ${table} in ${file}`);
  return found;
}

describe('parseListing', () => {
  it('reads the sets and maps of kube-proxy', () => {
    const table = listed('kube-proxy-affinity.ip.nft', 'ip kube-proxy');
    expect(table).toMatchObject({
      family: 'ip',
      name: 'kube-proxy',
      comment: 'rules for kube-proxy',
      unread: [],
    });
    expect([...table.sets.keys()].slice(0, 3)).toEqual([
      'hairpin-connections',
      'cluster-ips',
      'nodeport-ips',
    ]);
    expect(table.sets.get('service-ips')).toEqual({
      kind: 'map',
      declaration: {
        kind: 'map',
        keyTypes: ['ipv4_addr', 'inet_proto', 'inet_service'],
        dataTypes: ['verdict'],
        flags: [],
        autoMerge: false,
        comment: 'ClusterIP, ExternalIP and LoadBalancer IP traffic',
      },
      elements: new Map([
        ['10.96.40.14 . tcp . 80', 'goto service-BOYFNPTT-default/aff/tcp/http'],
        ['10.96.0.1 . tcp . 443', 'goto service-2QRHZV4L-default/kubernetes/tcp/https'],
      ]),
      notes: new Map(),
    });
  });

  it('reads dynamic sets with what is left of each element', () => {
    const { sets } = listed('kube-proxy-affinity.ip.nft', 'ip kube-proxy');
    const clients = [...sets].filter(([name]) => name.startsWith('affinity-'));
    expect(clients.map(([name]) => name)).toContain(
      'affinity-MNUWM55U-default/aff/tcp/http__10.244.1.2/8080',
    );
    const [, first] = clients[0] ?? [];
    expect(first?.declaration).toEqual({
      kind: 'set',
      keyTypes: ['ipv4_addr'],
      flags: ['dynamic', 'timeout'],
      timeout: 300_000,
      size: 65_535,
      autoMerge: false,
    });
    const seen = new Map(clients.flatMap(([, set]) => [...set.notes]));
    expect(seen.get('172.30.0.50')).toEqual({ expires: 299_804 });
  });

  it('reads comments of elements', () => {
    const { sets } = listed('kube-proxy-clusterip-noendpoints.ip.nft', 'ip kube-proxy');
    const map = sets.get('no-endpoint-services');
    expect(map?.elements.get('203.0.113.20 . tcp . 80')).toBe('goto reject-chain');
    expect(map?.notes.get('203.0.113.20 . tcp . 80')).toEqual({ comment: 'default/none:http' });
  });

  it('reads base chains, priorities by name included', () => {
    const { chains } = listed('kube-proxy-ipv6-single.ip6.nft', 'ip6 kube-proxy');
    const bases = [...chains].flatMap(([name, { base }]) =>
      base ? [[name, base.type, base.hook, base.priority, base.policy]] : [],
    );
    expect(bases).toEqual([
      ['filter-prerouting-pre-dnat', 'filter', 'prerouting', -110, 'accept'],
      ['filter-output-pre-dnat', 'filter', 'output', -110, 'accept'],
      ['filter-input', 'filter', 'input', 0, 'accept'],
      ['filter-forward', 'filter', 'forward', 0, 'accept'],
      ['filter-output', 'filter', 'output', 0, 'accept'],
      ['nat-prerouting', 'nat', 'prerouting', -100, 'accept'],
      ['nat-output', 'nat', 'output', -100, 'accept'],
      ['nat-postrouting', 'nat', 'postrouting', 100, 'accept'],
    ]);
    expect(chains.get('reject-chain')).toEqual({
      comment: 'helper for @no-endpoint-services / @no-endpoint-nodeports',
      rules: [{ statements: [{ kind: 'reject' }], text: 'reject' }],
    });
  });

  it('reads every rule of kube-proxy', () => {
    const files = [
      'affinity.ip',
      'clusterip-noendpoints.ip',
      'lb-sourceranges-deny.ip',
      'nodeport-local.ip',
      'ipv6-single.ip6',
    ];
    const rules = files.flatMap((file) => {
      const family = file.endsWith('6') ? 'ip6' : 'ip';
      return [...listed(`kube-proxy-${file}.nft`, `${family} kube-proxy`).chains.values()].flatMap(
        (chain) => chain.rules,
      );
    });
    expect(rules.length).toBeGreaterThan(100);
    expect(rules.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });

  it('keeps what it cannot read apart, and reads on', () => {
    const table = listed('foreign.ip.nft', 'ip others');
    expect(table.unread).toEqual([
      'line 2, column 2: expected a chain, a set, a map, a comment, or "}", found "counter"',
      'line 8, column 16: expected an address, found "00:11:22:33:44:55"',
    ]);
    expect([...table.sets.keys()]).toEqual(['known']);
    expect(table.chains.get('in')?.base?.policy).toBe('drop');
    expect(table.chains.get('in')?.rules.map(({ handle, text, problem }) => [handle, text, problem])).toEqual(
      [
        [5, 'ct state established,related accept', undefined],
        [
          6,
          'tcp flags syn / syn,ack limit rate 10/second accept',
          'line 19, column 3: expected a field that is understood here rather than "tcp flags", found "tcp"',
        ],
        [7, 'ip saddr @known accept', undefined],
        [
          8,
          'ether saddr @macs counter name "hits" log prefix "x { y" accept',
          'line 21, column 3: expected an expression such as "ip daddr", found "ether"',
        ],
      ],
    );
  });

  it('reads intervals, interface names, and maps of addresses and ports', () => {
    const { tables } = parseListing(`table ip t {
	map endpoints {
		typeof ip daddr . meta l4proto . th dport . numgen random mod 65536 : ip daddr . tcp dport
		size 1000	# count 2
		elements = { 10.0.0.1 . tcp . 80 . 0 comment "ns/x:p" : 10.1.1.1 . 8080,
			     10.0.0.1 . sctp . 80 . 1 : 10.1.1.2 . 8080 }
	}

	set nets {
		type ipv4_addr . inet_proto . inet_service . mark
		flags interval
		auto-merge
		elements = { 10.0.0.0/8 . tcp . 1-100 . 0x00000010 }
	}

	set ifs {
		type ifname
		flags interval
		elements = { "eth0", "cni*" }
	}
}
`);
    const sets = tables.get('ip t')?.sets;
    expect(sets?.get('endpoints')).toMatchObject({
      declaration: {
        keyTypes: ['ipv4_addr', 'inet_proto', 'inet_service', 'integer'],
        dataTypes: ['ipv4_addr', 'inet_service'],
        size: 1000,
      },
      elements: new Map([
        ['10.0.0.1 . tcp . 80 . 0', '10.1.1.1 . 8080'],
        ['10.0.0.1 . sctp . 80 . 1', '10.1.1.2 . 8080'],
      ]),
    });
    expect([...(sets?.get('nets')?.elements.keys() ?? [])]).toEqual(['10.0.0.0/8 . tcp . 1-100 . 16']);
    expect([...(sets?.get('ifs')?.elements.keys() ?? [])]).toEqual(['eth0', 'cni*']);
  });

  it('refuses what is no listing', () => {
    expect(() => parseListing('Error: No such file')).toThrow(
      'line 1, column 1: expected "table", found "Error"',
    );
    expect(() => parseListing('table ip t {\n\tchain a {\n')).toThrow('found the end of the text');
  });
});
