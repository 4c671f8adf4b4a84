import { describe, expect, it } from 'vitest';
import { IPVS_CHAINS, planCleanup } from './cleanup.ts';
import { parseSave } from './save.ts';

const OURS = `*mangle
:PREROUTING ACCEPT [0:0]
:KUBE-IPTABLES-HINT - [0:0]
:KUBE-PROXY-CANARY - [0:0]
COMMIT
*filter
:INPUT ACCEPT [0:0]
:KUBE-FIREWALL - [0:0]
:KUBE-NODEPORTS - [0:0]
-A INPUT -j KUBE-FIREWALL
-A INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-NPX46M4PTMTKRN6Y - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SVC-NPX46M4PTMTKRN6Y
-A KUBE-SVC-NPX46M4PTMTKRN6Y -j KUBE-MARK-MASQ
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
COMMIT
`;

describe('planCleanup', () => {
  it("takes jumps before chains, in one input, and leaves kubelet's and everybody else's", () => {
    const { input, leftovers } = planCleanup(parseSave(OURS));
    expect(input.join('')).toBe(`*mangle
:KUBE-PROXY-CANARY - [0:0]
-X KUBE-PROXY-CANARY
COMMIT
*filter
:KUBE-NODEPORTS - [0:0]
-D INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
-X KUBE-NODEPORTS
COMMIT
*nat
:KUBE-MARK-MASQ - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-NPX46M4PTMTKRN6Y - [0:0]
-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-X KUBE-MARK-MASQ
-X KUBE-SERVICES
-X KUBE-SVC-NPX46M4PTMTKRN6Y
COMMIT
`);
    expect(leftovers).toEqual([]);
  });

  it("leaves a chain that somebody else's rules jump to, as it is, and says so", () => {
    const hostport = `${OURS}*nat
:CNI-HOSTPORT-SETMARK - [0:0]
-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j KUBE-MARK-MASQ
COMMIT
`;
    const { input, leftovers } = planCleanup(parseSave(hostport));
    expect(leftovers).toEqual([{ object: 'nat KUBE-MARK-MASQ', reason: 'CNI-HOSTPORT-SETMARK jumps to it' }]);
    expect(input.join('')).not.toContain('KUBE-MARK-MASQ');
    expect(input.join('')).toContain('-X KUBE-SERVICES\n');
  });

  it('has nothing to do where nothing is ours', () => {
    const foreign = '*nat\n:PREROUTING ACCEPT [0:0]\n:DOCKER - [0:0]\n-A PREROUTING -j DOCKER\nCOMMIT\n';
    expect(planCleanup(parseSave(foreign))).toEqual({ input: [], leftovers: [] });
  });

  it('leaves IPVS mode, which is in force instead, the chains that both have', () => {
    const saved = parseSave(`*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-IPVS-FILTER - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-SERVICES - [0:0]
-A INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
-A INPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
-A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-NPX46M4PTMTKRN6Y - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
-A KUBE-NODE-PORT -p tcp -j KUBE-MARK-MASQ
-A KUBE-SVC-NPX46M4PTMTKRN6Y -j KUBE-MARK-MASQ
COMMIT
`);
    const { input, leftovers } = planCleanup(saved, IPVS_CHAINS);
    expect(input.join('')).toBe(`*filter
:KUBE-SERVICES - [0:0]
-D INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-D FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-X KUBE-SERVICES
COMMIT
*nat
:KUBE-NODEPORTS - [0:0]
:KUBE-SVC-NPX46M4PTMTKRN6Y - [0:0]
-X KUBE-NODEPORTS
-X KUBE-SVC-NPX46M4PTMTKRN6Y
COMMIT
`);
    expect(leftovers).toEqual([]);
  });

  it('takes no chain from under rules of its own that are still in force', () => {
    const { input, leftovers } = planCleanup(parseSave(OURS), IPVS_CHAINS);
    expect(input.join('')).not.toContain('KUBE-SVC-');
    expect(leftovers).toEqual([
      { object: 'nat KUBE-SVC-NPX46M4PTMTKRN6Y', reason: 'KUBE-SERVICES jumps to it' },
    ]);
  });
});
