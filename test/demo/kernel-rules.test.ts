import { describe, expect, it } from 'vitest';
import { iptablesExcerpts, nftExcerpts } from '../../demo/kernel-rules.ts';

const WEB = { address: '10.96.0.10', port: 80, protocol: 'tcp' } as const;

/** From `nft list table ip kube-proxy`, nft 1.0.6, shortened. */
const NFT = `table ip kube-proxy {
	comment "rules for kube-proxy"
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.10 . tcp . 80 comment "shop/web:http" : goto pick-tcp-3,
			     10.96.0.100 . tcp . 80 comment "shop/other:http" : goto pick-tcp-2 }
	}

	map tcp-endpoints {
		typeof ip daddr . tcp dport . numgen random mod 65536 : ip daddr . tcp dport
		elements = { 10.96.0.100 . 80 . 0 : 10.244.1.4 . 8080,
			     10.96.0.10 . 80 . 0 : 10.244.1.2 . 8080,
			     10.96.0.10 . 80 . 1 : 10.244.2.2 . 8080,
			     10.96.0.10 . 80 . 2 : 10.244.2.3 . 8080 }
	}

	chain services {
		ip daddr . meta l4proto . th dport vmap @service-ips
		ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
	}

	chain pick-tcp-1 {
		dnat ip to ip daddr . tcp dport . numgen random mod 1 map @tcp-endpoints
	}

	chain pick-tcp-2 {
		dnat ip to ip daddr . tcp dport . numgen random mod 2 map @tcp-endpoints
		goto pick-tcp-1
	}

	chain pick-tcp-3 {
		dnat ip to ip daddr . tcp dport . numgen random mod 3 map @tcp-endpoints
		goto pick-tcp-1
	}
}
`;

/** From `iptables-save -t nat`, shortened. */
const IPTABLES = `*nat
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.96.0.11/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-OTHER
-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-67NZLRHBNDSAWJRO
-A KUBE-SVC-67NZLRHBNDSAWJRO ! -s 10.244.0.0/16 -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-67NZLRHBNDSAWJRO -j KUBE-SEP-XTJTEC7KOHLCQM25
-A KUBE-SVC-OTHER -j KUBE-SEP-OTHER
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-SEP-XTJTEC7KOHLCQM25 -s 10.244.1.2/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-XTJTEC7KOHLCQM25 -p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080
COMMIT
`;

describe('the rules behind a Service', () => {
  it('nftables: its elements and the chains they lead to, in the order of a packet', () => {
    expect(nftExcerpts(NFT, WEB).map(({ object, lines }) => [object, lines])).toEqual([
      ['chain services', ['ip daddr . meta l4proto . th dport vmap @service-ips']],
      ['map service-ips', ['10.96.0.10 . tcp . 80 comment "shop/web:http" : goto pick-tcp-3']],
      [
        'chain pick-tcp-3',
        ['dnat ip to ip daddr . tcp dport . numgen random mod 3 map @tcp-endpoints', 'goto pick-tcp-1'],
      ],
      [
        'map tcp-endpoints',
        [
          '10.96.0.10 . 80 . 0 : 10.244.1.2 . 8080',
          '10.96.0.10 . 80 . 1 : 10.244.2.2 . 8080',
          '10.96.0.10 . 80 . 2 : 10.244.2.3 . 8080',
        ],
      ],
      ['chain pick-tcp-1', ['dnat ip to ip daddr . tcp dport . numgen random mod 1 map @tcp-endpoints']],
    ]);
  });

  it('iptables: its rule and the chains it leads to, each once', () => {
    expect(iptablesExcerpts(IPTABLES, WEB).map(({ object, lines }) => [object, lines.length])).toEqual([
      ['chain KUBE-SERVICES', 1],
      ['chain KUBE-SVC-67NZLRHBNDSAWJRO', 2],
      ['chain KUBE-MARK-MASQ', 1],
      ['chain KUBE-SEP-XTJTEC7KOHLCQM25', 2],
    ]);
  });
});
