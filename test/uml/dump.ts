/** What the tools list of an IPVS node, and how it may differ from what kube-proxy leaves there. */
import type { CommandRunner } from '../../src/node/runner.ts';

/** As the recordings have it. */
export interface IpvsDump {
  readonly ipvsadm: string;
  readonly ipsetSave: string;
  readonly iptablesSave: string;
  readonly ip6tablesSave: string;
  /** Of the dummy link. */
  readonly ipAddr: string;
}

export async function takeDump(runner: CommandRunner): Promise<IpvsDump> {
  const read = async (...argv: [string, ...string[]]): Promise<string> => (await runner.run({ argv })).stdout;
  const addresses = await read('ip', '-oneline', 'address', 'show');
  return {
    ipvsadm: await read('ipvsadm', '-Sn'),
    ipsetSave: await read('ipset', 'save'),
    iptablesSave: await read('iptables-save'),
    ip6tablesSave: await read('ip6tables-save'),
    ipAddr: addresses
      .split('\n')
      .filter((line) => line.includes('kube-ipvs0'))
      .join('\n'),
  };
}

/**
 * Lines of ours that kube-proxy does not have (`+`), and of kube-proxy's that we do not have (`-`), but for those
 * that docs/ipvs.md lists; some of them concern one scenario. The order of lines does not count.
 */
export function compareDumps(scenario: string, theirs: IpvsDump, ours: IpvsDump): string[] {
  return (Object.keys(theirs) as (keyof IpvsDump)[]).flatMap((part) => {
    const before = new Set(linesOf(theirs[part]));
    const after = new Set(linesOf(ours[part]));
    return [
      ...[...after].filter((line) => !before.has(line)).map((line) => `+ ${part}: ${line}`),
      ...[...before].filter((line) => !after.has(line)).map((line) => `- ${part}: ${line}`),
    ].filter(
      (difference) =>
        !DIFFERENCES.some(({ pattern, only = scenario }) => only === scenario && pattern.test(difference)),
    );
  });
}

/** Every line with its table in front, counters, indices and what the kernel draws at random left out. */
function linesOf(text: string): string[] {
  let table = '';
  return text.split('\n').flatMap((raw) => {
    const line = raw
      .replace(/ bucketsize \d+ initval \w+$/, '')
      .replace(/ ?\[\d+:\d+\]$/, '')
      .replace(/^\d+: /, '')
      .trim();
    if (line.startsWith('*')) table = `${line.slice(1)} `;
    return line === '' || /^(#|\*|COMMIT)/.test(line) || BUILT_IN.test(line) ? [] : [`${table}${line}`];
  });
}

const BUILT_IN = /^:(INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING) /;

interface Allowed {
  readonly pattern: RegExp;
  readonly why: string;
  /** The one scenario in which it may occur. */
  readonly only?: string;
}

const DIFFERENCES: readonly Allowed[] = [
  {
    only: 'not-ready',
    pattern: /^- ipsetSave: add KUBE-LOOP-BACK 10\.244\.1\.2,tcp:8080,10\.244\.1\.2$/,
    why: 'an endpoint that no policy uses sends nothing to itself',
  },
  {
    pattern: /^[+-] ipvsadm: -a -t 10\.96\.0\.1:443 -r 172\.30\.0\.1:644[34] -m -w 1$/,
    why: 'the recording’s API server moved to another port',
  },
  {
    pattern: /^\+ ipsetSave: (create|add) KUBE-(6-)?(NODE-PORT-IP|DROP|DROP-EXTERNAL) /,
    why: 'our own sets: where node ports answer, and who is dropped',
  },
  {
    pattern: /^\+ ipsetSave: add KUBE-LOOP-BACK 172\.30\.0\.1,tcp:6443,172\.30\.0\.1$/,
    why: 'an endpoint without nodeName may be on this node',
  },
  {
    pattern:
      /^\+ iptablesSave: nat -A KUBE-POSTROUTING .* --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE$/,
    why: 'hence the set has entries, and its rule',
  },
  {
    pattern: /^\+ ip6?tablesSave: mangle /,
    why: 'the node’s own packets are stopped before IPVS takes them',
  },
  {
    pattern: /^- iptablesSave: filter -A KUBE-IPVS-OUT-FILTER .* -m ipvs .* -j DROP$/,
    why: 'for which kube-proxy has a rule per address and port, behind IPVS',
  },
  {
    pattern: /^\+ iptablesSave: filter -A KUBE-PROXY-FIREWALL .* KUBE-DROP(-EXTERNAL)? dst,dst -j DROP$/,
    why: 'policy Local without a local endpoint drops',
  },
  {
    pattern:
      /^[+-] iptablesSave: nat .*externalTrafficPolicy=local" .*dst( -m addrtype ! --src-type LOCAL)? -j RETURN$/,
    why: 'under policy Local the node’s own connections are masqueraded',
  },
];
