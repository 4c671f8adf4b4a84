/** docs/flags.md, made from the options themselves. */
import { code, markdownTable } from '../docs/markdown.ts';
import { FEATURE_GATES, type GateName, GONE_GATES } from './feature-gates.ts';
import { FIELDS, type FieldInfo, FLAGS, type FlagGroup, type FlagInfo } from './flags.ts';

interface Row {
  readonly name: string;
  readonly initial: string;
  readonly text: string;
  readonly beside: string;
}

/** What a command takes beside options. */
const COMMAND_FLAGS: readonly Row[] = [
  {
    name: '`--config <path>`',
    initial: '',
    text: 'take the configuration from a file',
    beside:
      'different: the file is compared by content, so that a ConfigMap that is mounted anew counts (kube-proxy misses it) and a touched file does not',
  },
  {
    name: '`--write-config-to <path>` †',
    initial: '',
    text: 'write the configuration with its defaults, and end',
    beside:
      'different: a server that is switched off is written with port 0, so that it is off for whoever reads the file. kube-proxy writes an empty text, which means the default there',
  },
  {
    name: '`--init-only` †',
    initial: '',
    text: 'do what needs more rights than CAP_NET_ADMIN, and end',
    beside: 'same',
  },
  {
    name: '`--cleanup` †',
    initial: '',
    text: 'remove the rules of all modes, and end',
    beside: 'different: virtual servers that are not of Services stay (Q8), and what is left is named',
  },
  {
    name: '`--version` †',
    initial: '',
    text: 'print the version, and end',
    beside:
      'different: this program names itself, and the kube-proxy whose place it takes. `raw` prints JSON; `vX.Y.Z` is taken and changes nothing',
  },
];

/** kube-proxy's on Windows; on Linux it does not know them either. */
export const WINDOWS_FLAGS: readonly string[] = [
  'windows-service',
  'source-vip',
  'network-name',
  'enable-dsr',
  'root-hnsendpoint-name',
  'forward-healthcheck-vip',
];

const INTRODUCTION = `# Flags and configuration

<!-- Made by scripts/docs.ts from src/config/table. Change that, and run \`node scripts/docs.ts\`. -->

Every flag and every field of a KubeProxyConfiguration (\`kubeproxy.config.k8s.io/v1alpha1\`) of kube-proxy 1.36 on Linux, and what becomes of it here. **same**: as in kube-proxy. **different**: on purpose. **no effect**: taken and checked, for command lines and files that have it. **ours**: kube-proxy does not have it.

## Two names

Called \`kube-proxy\`, the program takes kube-proxy's flags without a command: link it to that name, as the image does (\`/usr/local/bin/kube-proxy\`). \`kube-rulesync kube-proxy\` is the same. The package installs no such link, which would hide a real kube-proxy.

| | \`kube-proxy\` | \`kube-rulesync run\` |
|---|---|---|
| mode, if nothing says one | iptables | nftables; iptables with \`--config\`, whose files are kube-proxy's |
| flags that are ours | unknown | taken |
| \`--cleanup\`, \`--version\` | flags | commands: \`kube-rulesync cleanup\`, \`kube-rulesync version\` |

An unknown flag, a value that is not allowed and an argument that is no flag end either with exit code 1. \`_\` in the name of a flag is as good as \`-\`. A flag that is shown without a value takes one behind \`=\` alone (\`--masquerade-all=false\`). Numbers are written as in Go: \`0x\`, \`0b\` and \`0o\` begin one of another base, and what begins with \`0\` is octal, except for \`-v\`.

## A configuration file

With \`--config\` the file takes the place of all flags but for those marked † and those that are ours; what else was given is named in the log, and ends the program where it is no value of the flag's type at all. Of a file:

- Unknown fields, and keys that are set twice, are named in the log and left out; of a key that is set twice the last one counts. A value that is not allowed ends the program, and the message names the file, the field, the value and what is allowed.
- Absence, \`null\` and the zero of a type (\`""\` for text, \`0\`, \`0s\`, \`false\`, \`[]\`) mean the default, as kubeadm writes them. In fields marked ‡ zero counts, and only \`null\` and absence mean the default.
- It is read as Kubernetes reads YAML, by the rules of version 1.1: \`yes\` and \`on\` are true, \`016\` is 14.
- The text of a list is one entry, with its commas: \`nodePortAddresses: [""]\` is an error, no empty list.
- Sync periods and masquerading come from the part of the chosen mode: \`iptables\`, \`ipvs\` or \`nftables\`. IPVS has no masquerading of its own and takes that of \`iptables\`.
- When the file says something else than it did, the program ends with exit code 1, so that it is started anew.
`;

/** The text of docs/flags.md. */
export function flagsMarkdown(): string {
  const flags = Array.from(FLAGS.values());
  const fields = Array.from(FIELDS.values());
  const theirs = [
    ...COMMAND_FLAGS,
    ...flags.filter(({ own }) => !own).map(flagRow),
    ...WINDOWS_FLAGS.map((flag) => ({
      name: `\`--${flag}\``,
      initial: '',
      text: 'for Windows',
      beside: 'same: on Linux an unknown flag',
    })),
  ];
  return `${INTRODUCTION}
## Flags of kube-proxy

${table(['Flag', 'Default', 'Meaning', 'Beside kube-proxy'], theirs)}

## Flags that are ours

${table(['Flag', 'Default', 'Meaning', ''], ownRows(flags))}

## Fields of a KubeProxyConfiguration

${table(['Field', 'Default', 'Meaning', 'Beside kube-proxy'], fields.map(fieldRow))}

## Feature gates

${markdownTable(['Gate', 'Default', 'Effect'], Object.entries(FEATURE_GATES).map(gateRow))}

\`AllAlpha\` and \`AllBeta\` set every gate of their stage that is not named itself. These are gone, and always on: ${[...GONE_GATES].map((name) => `\`${name}\``).join(', ')}.
`;
}

function table(head: readonly string[], rows: readonly Row[]): string {
  return markdownTable(
    head,
    rows.map(({ name, initial, text, beside }) => [name, initial, text, beside]),
  );
}

function flagRow(info: FlagInfo): Row {
  const short = info.short && info.short !== info.flag ? `\`-${info.short}\`, ` : '';
  const flag = info.short === info.flag ? `-${info.flag}` : `--${info.flag}`;
  return {
    name: `${short}\`${flag}${info.value ? ` ${info.value}` : ''}\`${info.besideFile ? ' †' : ''}`,
    initial: code(info.shownDefault ?? info.initial),
    text: meaning(info),
    beside: besideKubeProxy(info.group, [info.flagDiffers, info.differs]),
  };
}

function fieldRow(info: FieldInfo): Row {
  const initial = info.fieldDefault ?? info.shownDefault ?? info.initial;
  return {
    name: `\`${info.field}\`${info.zeroCounts ? ' ‡' : ''}`,
    initial: code(initial),
    text: meaning({ ...info, text: info.fieldText ?? info.text }),
    beside: besideKubeProxy(info.group, [info.differs]),
  };
}

function ownRows(flags: readonly FlagInfo[]): Row[] {
  const aliases = flags.flatMap(({ alias, flag }) =>
    alias ? [{ name: `\`--${alias}\``, initial: '', text: `the same as \`--${flag}\``, beside: '' }] : [],
  );
  return [...flags.filter(({ own }) => own).map((info) => ({ ...flagRow(info), beside: '' })), ...aliases];
}

function gateRow([name, gate]: [string, (typeof FEATURE_GATES)[GateName]]): string[] {
  const locked = 'locked' in gate ? ', locked' : '';
  return [code(name), `${gate.enabled}${locked} (${gate.stage})`, gate.effect];
}

function meaning({ text, deprecated }: FlagInfo | FieldInfo): string {
  return deprecated ? `${text}. Deprecated: ${deprecated}` : text;
}

function besideKubeProxy(group: FlagGroup, differs: readonly (string | undefined)[]): string {
  const all = differs.filter((one) => one !== undefined).join('; ');
  if (group === 'Without effect') return `no effect: ${all}`;
  return all === '' ? 'same' : `different: ${all}`;
}
