/** The rules behind one Service, cut from what the kernel's own tool lists: its entry and all that it leads to. */
import type { ProxyMode } from '../src/reconcile/backend.ts';

/** A set, map or chain and the lines of it that matter. */
export interface Excerpt {
  /** `map service-ips`, `chain pick-tcp-3`. */
  readonly object: string;
  /** What it is for, in a few words. */
  readonly note: string;
  readonly lines: readonly string[];
}

export interface FrontEndAddress {
  readonly address: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** How the rules of a mode are listed and taken apart. */
export interface RuleReader {
  /** Lists the IPv4 rules. `used`: the programs that wrote them. */
  listing(used: readonly string[]): readonly [string, ...string[]];
  /** In the order in which a packet meets them. */
  excerpts(listing: string, frontEnd: FrontEndAddress): readonly Excerpt[];
  readonly summary: string;
}

/** Modes that are not here are shown by what was written for them. */
export const RULE_READERS: Readonly<Partial<Record<ProxyMode, RuleReader>>> = {
  nftables: {
    listing: () => ['nft', 'list', 'table', 'ip', 'kube-proxy'],
    excerpts: nftExcerpts,
    summary: 'All Services share these maps and chains: a change is a few elements, however many there are.',
  },
  iptables: {
    // Two variants of iptables keep their rules in different places.
    listing: (used) => [
      used.find((tool) => tool.startsWith('iptables'))?.replace('restore', 'save') ?? 'iptables-save',
      '-t',
      'nat',
    ],
    excerpts: iptablesExcerpts,
    summary: "Names and rules are kube-proxy's own, so that what reads those reads these.",
  },
};

/** What a chain or map is for, by the beginning of its name. */
const NOTES: readonly (readonly [RegExp, string])[] = [
  [/^chain services$/, 'every new connection is looked up here'],
  [/^map service-ips$/, 'by address, protocol and port'],
  [/^chain pick-\w+-1$/, 'if the number is missing for an instant, the first pod takes it'],
  [/^chain pick-/, 'draws a number; shared by all Services with as many pods'],
  [/^map \w+-endpoints$/, 'which pod the number stands for'],
  [/^chain KUBE-SERVICES$/, 'every new connection is looked up here'],
  [/^chain KUBE-SVC-/, 'draws a pod'],
  [/^chain KUBE-SEP-/, 'one pod'],
  [/^chain KUBE-MARK-MASQ$/, "asks for the node's address in place of the client's"],
];

function excerpt(object: string, lines: readonly string[]): Excerpt {
  return { object, lines, note: NOTES.find(([pattern]) => pattern.test(object))?.[1] ?? '' };
}

export function nftExcerpts(listing: string, { address, port, protocol }: FrontEndAddress): Excerpt[] {
  const blocks = nftBlocks(listing);
  const services = (blocks.get('chain services') ?? []).filter((line) => line.includes('@service-ips'));
  const entry = elements(blocks.get('map service-ips') ?? [], `${address} . ${protocol} . ${port}`);
  const excerpts = [excerpt('chain services', services), excerpt('map service-ips', entry)];
  const met = new Set(excerpts.map(({ object }) => object));
  const follow = (lines: readonly string[]): void => {
    const references = lines.flatMap((line) => [...line.matchAll(/map @(\S+)|goto ([^\s,}]+)/g)]);
    for (const [, map, chain] of references) {
      const object = map === undefined ? `chain ${chain}` : `map ${map}`;
      if (met.has(object)) continue;
      met.add(object);
      const block = blocks.get(object) ?? [];
      const found = map === undefined ? block : elements(block, `${address} . ${port}`);
      excerpts.push(excerpt(object, found));
      follow(found);
    }
  };
  follow(entry);
  return excerpts;
}

/** `map service-ips` → its lines, without indentation. */
function nftBlocks(listing: string): ReadonlyMap<string, readonly string[]> {
  const blocks = listing.matchAll(/^\t((?:set|map|chain) \S+) \{\n(.*?)^\t\}$/gms);
  return new Map(Array.from(blocks, ([, name = '', body = '']) => [name, linesOf(body)]));
}

/** The elements of a map whose key is, or begins with, these fields. Maps are listed with an element a line. */
function elements(block: readonly string[], key: string): string[] {
  return block
    .map((line) => line.replace(/^elements = \{ /, '').replace(/ \}$|,$/, ''))
    .filter((line) => line.startsWith(`${key} `));
}

export function iptablesExcerpts(listing: string, { address, port }: FrontEndAddress): Excerpt[] {
  const rules = Map.groupBy(linesOf(listing), (line) => /^-A (\S+)/.exec(line)?.[1] ?? '');
  const entry = (rules.get('KUBE-SERVICES') ?? []).filter(
    (line) => line.includes(`-d ${address}/`) && line.includes(`--dport ${port} `),
  );
  const excerpts = [excerpt('chain KUBE-SERVICES', entry)];
  const met = new Set(['KUBE-SERVICES']);
  const follow = (lines: readonly string[]): void => {
    const targets = new Set(lines.flatMap((line) => / -[jg] (KUBE-\S+)/.exec(line)?.[1] ?? []));
    const fresh = [...targets].filter((chain) => !met.has(chain));
    for (const chain of fresh) {
      met.add(chain);
      excerpts.push(excerpt(`chain ${chain}`, rules.get(chain) ?? []));
    }
    for (const chain of fresh) follow(rules.get(chain) ?? []);
  };
  follow(entry);
  return excerpts;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
