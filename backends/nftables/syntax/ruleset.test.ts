import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, test } from 'vitest';
import { parseListing } from './listing.ts';
import type { TableModel } from './model.ts';
import { listingText } from './print.ts';
import { RefusedCommand } from './refusal.ts';
import { CASES, SETUP } from './ruleset.cases.ts';
import { Ruleset } from './ruleset.ts';

/** One command of `commands.json`. */
interface Recorded {
  readonly phase: string;
  readonly argv: readonly string[];
  readonly stdin?: string;
  readonly stdinFile?: string;
}

function prepared(script = SETUP): Ruleset {
  const ruleset = new Ruleset();
  ruleset.apply(script);
  return ruleset;
}

/** A copy that later scripts do not change; what is in it does not depend on an order of names. */
function contents(ruleset: Ruleset): TableModel {
  return parseListing(listingText(ruleset));
}

function refusal(ruleset: Ruleset, script: string): RefusedCommand {
  try {
    ruleset.apply(script);
  } catch (error) {
    if (error instanceof RefusedCommand) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('Ruleset', () => {
  test.for(CASES.map(([outcome, script]) => [outcome, script.replaceAll('\n', ' ⏎ '), script] as const))(
    '%s: %s',
    ([outcome, , script]) => {
      const ruleset = prepared();
      const before = contents(ruleset);
      if (outcome === 'applied') {
        ruleset.apply(script);
      } else {
        expect(refusal(ruleset, script).reason).toBe(outcome);
        expect(contents(ruleset)).toEqual(before);
      }
    },
  );

  it('takes everything back when a later command is refused', () => {
    const ruleset = prepared();
    const before = contents(ruleset);
    const error = refusal(
      ruleset,
      [
        'add table ip6 x',
        'add chain ip t new',
        'flush chain ip t a',
        'flush map ip t v',
        'add element ip t s { 9.9.9.9 comment "y" }',
        'delete map ip t d',
        'delete set ip t s',
        'delete chain ip t zz',
      ].join('\n'),
    );
    expect(error.message).toBe('line 8: there is no chain zz in table ip t');
    expect(contents(ruleset)).toEqual(before);
    // References are as they were too.
    expect(refusal(ruleset, 'delete chain ip t b').reason).toBe('busy');
    expect(refusal(ruleset, 'delete set ip t s').reason).toBe('busy');
  });

  it('takes everything back when a later line cannot be read', () => {
    const ruleset = prepared();
    const before = contents(ruleset);
    expect(() => ruleset.apply('flush chain ip t a\nadd chain ip t\n')).toThrow(
      'line 2, column 15: expected a chain name, found the end of the line',
    );
    expect(contents(ruleset)).toEqual(before);
  });

  it('names the line of a refused command that goes over several', () => {
    const script = 'add element ip t s { 3.3.3.3,\n 4.4.4.4 }\nadd element ip t s {\n 5.5.5.5 . 80 }';
    expect(refusal(prepared(), script).message).toBe(
      'line 3: 5.5.5.5 . 80 is not of the type of s, ipv4_addr',
    );
  });

  it('keeps values as canonical text', () => {
    const { tables } = prepared(`add table ip6 t
add map ip6 t m { type ipv6_addr . inet_proto . inet_service : ipv6_addr . inet_service ; }
add element ip6 t m { FD00:0::0001 . 6 . 0x50 comment "a b" : fd00:0:0::2 . 080 }
add set ip6 t ifs { type ifname . mark ; }
add element ip6 t ifs { "eth0" . 0x4000, eth1 . 1 }
`);
    const sets = tables.get('ip6 t')?.sets;
    expect([...(sets?.get('m')?.elements ?? [])]).toEqual([['fd00::1 . tcp . 80', 'fd00::2 . 80']]);
    expect([...(sets?.get('m')?.notes ?? [])]).toEqual([['fd00::1 . tcp . 80', { comment: 'a b' }]]);
    expect([...(sets?.get('ifs')?.elements.keys() ?? [])]).toEqual(['eth0 . 16384', 'eth1 . 1']);
  });

  it('gives rules handles, by which they can be replaced and deleted', () => {
    const ruleset = prepared(
      'add table ip t\nadd chain ip t a\nadd rule ip t a drop\nadd rule ip t a accept\n',
    );
    const rules = (): (string | number | undefined)[][] =>
      ruleset.tables
        .get('ip t')
        ?.chains.get('a')
        ?.rules.map(({ handle, text }) => [handle, text]) ?? [];
    expect(rules()).toEqual([
      [1, 'drop'],
      [2, 'accept'],
    ]);
    ruleset.apply('replace rule ip t a handle 1 return');
    expect(refusal(ruleset, 'delete rule ip t a handle 1').reason).toBe('missing');
    expect(rules()).toEqual([
      [3, 'return'],
      [2, 'accept'],
    ]);
  });

  it('does not mind what destroy does not find', () => {
    const ruleset = prepared();
    const before = contents(ruleset);
    ruleset.apply(
      'destroy chain ip t zz\ndestroy set ip t zz\ndestroy map ip t zz\ndestroy table ip zz\ndestroy element ip t s { 9.9.9.9 }',
    );
    expect(contents(ruleset)).toEqual(before);
    ruleset.apply('destroy element ip t s { 1.1.1.1 }\ndestroy table ip t');
    expect(ruleset.tables.size).toBe(0);
  });

  it('prints what parseListing reads back', () => {
    const file = new URL('../../../test/fixtures/nft/kube-proxy-affinity.ip.nft', import.meta.url);
    const model = parseListing(readFileSync(file, 'utf8'));
    expect(parseListing(listingText(model))).toEqual(model);
  });

  it('applies what kube-proxy sends for 1,000 Services, and its changes', (context) => {
    const folder = new URL('../../../../shared/reference/scale/nftables-1000x3/', import.meta.url);
    if (!existsSync(folder))
      return context.skip('the folder ../shared with the recorded commands is not here');
    const commands = JSON.parse(readFileSync(new URL('commands.json', folder), 'utf8')) as Recorded[];
    const ruleset = new Ruleset();
    const services: Record<string, number | undefined> = {};
    for (const { phase, argv, stdin, stdinFile } of commands) {
      if (argv.join(' ') !== 'nft -f -') continue;
      ruleset.apply(
        stdinFile ? gunzipSync(readFileSync(new URL(stdinFile, folder))).toString() : (stdin ?? ''),
      );
      services[phase] = ruleset.tables.get('ip kube-proxy')?.sets.get('service-ips')?.elements.size;
    }
    expect(services).toEqual({ first: 1001, change1: 1001, change2: 1001, add: 1002, del: 1001 });
  });

  test.for<[script: string, message: string]>([
    ['frob table ip t', 'line 1, column 1: expected something to add, found "frob"'],
    ['flush element ip t s { 1.1.1.1 }', 'line 1, column 7: expected something to flush, found "element"'],
    ['insert chain ip t a', 'line 1, column 8: expected something to insert, found "chain"'],
    [
      'add set ip t x { flags interval ; }',
      'line 1, column 35: expected the type of the set before it ends, found "}"',
    ],
    [
      'add set ip t x { type ipv5_addr ; }',
      'line 1, column 23: expected a data type such as ipv4_addr, found "ipv5_addr"',
    ],
    ['add map ip t x { type ipv4_addr ; }', 'line 1, column 33: expected ":", found ";"'],
    [
      'add chain ip t x { type nat hook outside priority 0 ; }',
      'line 1, column 34: expected a hook: prerouting, input, forward, output, postrouting, ingress, egress, found "outside"',
    ],
    [
      'add chain ip t x { type nat hook output priority high ; }',
      'line 1, column 50: expected a number, or one of raw, mangle, dstnat, filter, security, srcnat, found "high"',
    ],
    [
      'delete rule ip t a drop',
      'line 1, column 20: expected "handle" and the number of a rule, found "drop"',
    ],
    ['delete chain ip t a { }', 'line 1, column 21: expected the end of the command, found "{"'],
    ['add element ip t s { 1.1.1.1 ', 'line 1, column 30: expected "}", found the end of the text'],
  ])('cannot read %j', ([script, message]) => {
    expect(() => prepared().apply(script)).toThrow(message);
  });
});
