/** Nothing that kube-proxy 1.36 has is left out of the tables, and nothing in them is made up. */
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { HEAD, optionsOfFile } from '../../test/support/load-configuration.ts';
import {
  codeIn,
  pageRows,
  referenceMissing,
  referenceRows,
  referenceText,
} from '../../test/support/reference.ts';
import { configure } from '../cli/commands/kube-proxy.ts';
import { flagTexts } from '../cli/flag-texts.ts';
import { formatDuration, parseDuration } from '../config/duration.ts';
import { FIELDS, FLAGS } from '../config/flags.ts';
import { EVENTS } from '../events/catalogue.ts';

/** What is set as code in one column of a page's tables. */
function documented(page: string, column = 0): Set<string> {
  return new Set(pageRows(page).flatMap((cells) => codeIn(cells[column] ?? '')));
}

/** Flags of docs/flags.md, without the values that they take. */
function documentedFlags(): Set<string> {
  const cells = [...documented('docs/flags.md')].map((text) => text.replace(/ .*/, ''));
  return new Set(cells.filter((text) => text.startsWith('-')));
}

test('docs/flags.md has every flag of the command kube-proxy', () => {
  const program = new Command();
  configure(program);
  const flags = program.options.map(({ long, short }) => long ?? short ?? '');
  expect(flags.length).toBeGreaterThan(50);
  const known = documentedFlags();
  expect(flags.filter((flag) => !known.has(flag) && !known.has(flag.slice(1)))).toEqual([]);
});

const title = "kube-proxy's reference";
describe.skipIf(referenceMissing)(
  referenceMissing ? `${title} (skipped: ${referenceMissing})` : title,
  () => {
    test('every flag is in docs/flags.md', () => {
      const known = documentedFlags();
      const listed = referenceRows('1.1').flatMap(([cell = '']) => flagsIn(cell, known));
      expect(listed.length).toBeGreaterThan(60);
      expect(listed.filter((flag) => !known.has(flag))).toEqual([]);
    });

    test('every field is in docs/flags.md', () => {
      const known = documented('docs/flags.md');
      const listed = referenceRows('1.2').flatMap(([cell = '']) => fieldsIn(cell, known));
      expect(listed.length).toBeGreaterThan(55);
      expect(listed.filter((field) => !known.has(field))).toEqual([]);
    });

    test('the defaults of flags are those that are listed', () => {
      const here = new Command();
      configure(here);
      here.action(() => undefined).parse([], { from: 'user' });
      const texts = flagTexts(here, { proxyMode: 'iptables' });
      const known = documentedFlags();
      const listed = referenceRows('1.1').flatMap(([cell = '', initial = '']) =>
        withDefaults(flagsIn(cell, known), initial.split(' / ')),
      );
      expect(listed.length).toBeGreaterThan(45);
      const differences = listed.flatMap(([flag, there]) => {
        const text = normalDefault(texts[flag.replace(/^-+/, '')]);
        return text === there ? [] : [[flag, { there, here: text }]];
      });
      expect(Object.fromEntries(differences)).toEqual({
        // Both: the flag is empty, and rr is what comes of that.
        '--ipvs-scheduler': { there: 'rr', here: '' },
      });
    });

    test('the defaults of fields are those that are listed, in the tables and in the program', async () => {
      const { configuration } = await optionsOfFile(HEAD);
      const known = documented('docs/flags.md');
      const fields = new Map(Array.from(FIELDS.values(), (info) => [info.field, info]));
      const listed = referenceRows('1.2').flatMap(([cell = '', initial = '']) =>
        withDefaults(fieldsIn(cell, known), initial.split(/ \/ |, /)),
      );
      expect(listed.length).toBeGreaterThan(48);
      const differences = listed.flatMap(([field, there]) => {
        const { fieldDefault, shownDefault, initial } = fields.get(field) ?? {};
        const table = normalDefault(fieldDefault ?? shownDefault ?? initial);
        const program = normalDefault(valueAt(configuration, field));
        return table === there && program === there ? [] : [[field, { there, table, program }]];
      });
      expect(Object.fromEntries(differences)).toEqual({
        // Its whole name.
        'clientConnection.contentType': {
          there: 'protobuf',
          table: 'application/vnd.kubernetes.protobuf',
          program: 'application/vnd.kubernetes.protobuf',
        },
        // Text on a terminal, else JSON.
        'logging.format': { there: 'text', table: '', program: '' },
        // Both: the field is empty, and rr is what comes of that.
        'ipvs.scheduler': { there: 'rr', table: '', program: '' },
        // Not written while it is false, as there.
        windowsRunAsService: { there: 'false', table: 'false', program: '' },
      });
    });

    test('the flags that count beside --config are those that are listed', () => {
      const rule = /\*\*except\*\* (.*?)\. Flag names/s.exec(referenceText())?.[1] ?? '';
      const known = [...documentedFlags()];
      const listed = codeIn(rule).flatMap((flag) =>
        flag.endsWith('*') ? known.filter((one) => one.startsWith(flag.slice(0, -1))) : [flag],
      );
      expect(listed.length).toBe(14);
      const marked = pageRows('docs/flags.md').flatMap(([cell = '']) =>
        cell.endsWith(' †') ? codeIn(cell).slice(-1) : [],
      );
      const names = marked.map((flag) => flag.replace(/ .*/, ''));
      expect(names.sort()).toEqual(listed.sort());
      const counting = [...FLAGS.values()].filter(({ besideFile }) => besideFile);
      const ofCommand = ['--cleanup', '--init-only', '--version', '--write-config-to'];
      expect(
        [...counting.map(({ flag }) => `${flag === 'v' ? '-' : '--'}${flag}`), ...ofCommand].sort(),
      ).toEqual(names);
    });

    test('every feature gate is in docs/flags.md', () => {
      const page = pageRows('docs/flags.md');
      const known = new Set(page.flatMap(([cell = '']) => codeIn(cell)));
      const [gone, there] = ['Gone', ''].map((start) =>
        referenceRows('1.12')
          .filter(([cell = '']) => cell.startsWith('Gone') === (start !== ''))
          .flatMap(([cell = '']) => cell.match(/\b[A-Z]\w*[a-z][A-Z]\w*/g) ?? []),
      );
      expect(there?.length).toBeGreaterThan(10);
      expect(there?.filter((gate) => !known.has(gate))).toEqual([]);
      expect(gone?.length).toBe(7);
    });

    test('every metric is in docs/metrics.md', () => {
      const known = documented('docs/metrics.md');
      const isKnown = (name: string) =>
        known.has(name) ||
        (name.endsWith('*') && [...known].some((one) => one.startsWith(name.slice(0, -1))));
      const listed = referenceMetrics();
      expect(listed.length).toBeGreaterThan(35);
      expect(listed.filter((name) => !isKnown(name))).toEqual([]);
    });

    test('every metric in docs/metrics.md is in the reference, or ours', () => {
      const listed = referenceMetrics();
      const isListed = (name: string) =>
        listed.some((one) => one === name || (one.endsWith('*') && name.startsWith(one.slice(0, -1))));
      const known = [...documented('docs/metrics.md')].filter((name) => /^[a-z]+_[\w*]+$/.test(name));
      expect(known.filter((name) => !isListed(name) && !name.startsWith('kube_rulesync_'))).toEqual([]);
    });

    test('every path is in docs/endpoints.md', () => {
      const servers = ['healthz', 'metrics', 'per-service'];
      const listed = pathsByServer(referenceRows('1.3'), servers);
      const known = pathsByServer(pageRows('docs/endpoints.md').slice(0, 30), [
        'health check, ',
        'metrics',
        'health check of a Service',
      ]);
      expect(listed.length).toBeGreaterThan(12);
      expect(listed.filter((path) => !known.includes(path))).toEqual([]);
    });

    test('every Event is in the catalogue, as it is there', () => {
      const listed = referenceRows('1.11')
        .filter(([, , type]) => type === 'Normal' || type === 'Warning')
        .flatMap(([cell = '', about, type]) => {
          const words = codeIn(cell);
          const action = words.at(-1);
          return words.slice(0, -1).map((reason) => [reason, { action, about, type }] as const);
        });
      expect(listed.length).toBe(5);
      const theirs = Object.entries(EVENTS)
        .filter(([, { parity }]) => parity !== 'ours')
        .map(([reason, { action, about, type }]) => [reason, { action, about, type }]);
      expect(Object.fromEntries(theirs)).toEqual(Object.fromEntries(listed));
    });
  },
);

/**
 * `--conntrack-udp-timeout` / `-udp-timeout-stream`: a name that begins with one dash ends so, and begins as the first
 * one does. Which words of that one come first is found by what is known; what fits nowhere stays as it is.
 */
function flagsIn(cell: string, known: ReadonlySet<string>): string[] {
  const names = codeIn(cell)
    .flatMap((text) => text.split(' '))
    .filter((text) => text.startsWith('-') && text !== '--log-*');
  const words = (names[0] ?? '').split('-');
  return names.map((name) => {
    if (name.startsWith('--') || name === '-v') return name;
    const whole = words.map((_, index) => `${words.slice(0, index + 1).join('-')}${name}`);
    return whole.find((one) => known.has(one)) ?? name;
  });
}

/** `conntrack.maxPerCore`, `min`; `logging.{format, options.text.*}`: each field by its whole name. */
function fieldsIn(cell: string, known: ReadonlySet<string>): string[] {
  const names = codeIn(cell).flatMap((text) => {
    const [, parent = '', children = ''] = /^(.*)\{(.*)\}$/.exec(text) ?? [];
    return parent === '' ? [text] : children.split(',').map((child) => `${parent}${child.trim()}`);
  });
  const parent = /^(.*)\./.exec(names[0] ?? '')?.[1];
  return names.flatMap((name) => {
    if (name.endsWith('.*')) {
      const found = [...known].filter((one) => one.startsWith(name.slice(0, -1)));
      return found.length > 0 ? found : [name];
    }
    return !name.includes('.') && parent !== undefined ? [`${parent}.${name}`] : [name];
  });
}

/** Each name with its default: one may be for all of them. A name that has none in the table is left out. */
function withDefaults(names: readonly string[], defaults: readonly string[]): [string, string][] {
  return names.flatMap((name, index) => {
    const text = defaults.length === 1 ? defaults[0] : defaults[index];
    const found = text === undefined ? undefined : defaultIn(text);
    return found === undefined ? [] : [[name, found]];
  });
}

/** `bool false`, `ip:port, 0.0.0.0:10256`, `"" = iptables`, `0 = leave`, `[] (nftables: primary)`. */
function defaultIn(cell: string): string | undefined {
  const text = cell
    .replaceAll('`', '')
    .replace(/(;.*| \(.*\)?|, deprecated| shown| = leave)$/, '')
    .replace(/^(bool|path,|IP,|ip:port,) /, '')
    .replace(/^(path|k=v list)$/, '""')
    .replace(/^false\/.*/, 'false');
  if (text === '' || text.startsWith('leaked')) return undefined;
  return normalDefault(/^"" (?:->|=) (\w+)$/.exec(text)?.[1] ?? text.replace(/^""$/, ''));
}

/** Durations as Go prints them, whole numbers too, as zero is one; and nothing for whatever is empty. */
function normalDefault(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? '').replaceAll('"', '');
  if (text === '0' || text === '0s') return '0';
  const duration = parseDuration(text);
  if (duration !== undefined) return formatDuration(duration);
  return /^(null|\{\}|\[\])$/.test(text) ? '' : text;
}

function valueAt(content: unknown, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>((level, key) => (level as Record<string, unknown> | undefined)?.[key], content);
}

/** Names wherever the reference has them. `kubeproxy_a_pending` / `_total` are two. */
function referenceMetrics(): string[] {
  const METRIC =
    /^(kubeproxy|kubernetes|rest_client|process|go|promhttp|registered|disabled|hidden)_[a-z_]*\*?(\{.*\})?$/;
  const listed = referenceRows('1.4').flatMap(([cell = '']) => {
    const [first = '', ...more] = codeIn(cell);
    return [first, ...more.map((name) => (name.startsWith('_') ? first.replace(/_[a-z]+$/, name) : name))];
  });
  const mentioned = referenceText()
    .split('\n')
    .flatMap(codeIn)
    .filter((text) => METRIC.test(text));
  return [...new Set([...listed, ...mentioned].map((name) => name.replace(/\{.*/, '')))];
}

/** `metrics /proxyMode`: the server is the one whose row comes before. */
function pathsByServer(rows: readonly string[][], servers: readonly string[]): string[] {
  let server = -1;
  return rows.flatMap(([title = '', path = '']) => {
    const found = servers.findLastIndex((name) => title.startsWith(name));
    if (title !== '') server = found;
    const paths = codeIn(path).filter((text) => text.startsWith('/'));
    const all = [
      ...paths,
      ...(path === 'any path' ? ['/*'] : []),
      ...(/^other( paths)?$/.test(path) ? ['others'] : []),
    ];
    return server < 0 ? [] : all.map((one) => `${server} ${one}`);
  });
}
