/**
 * `/statusz` and `/flagz`: text for people, whose delimiter changes so that no program comes to rely on it, and
 * structures for programs that ask for them in full (`application/json;v=v1beta1;g=config.k8s.io;as=Flagz`).
 */
import { acceptedTypes } from './accept.ts';
import type { Answer, Asked } from './answer.ts';

const GROUP = 'config.k8s.io';
const VERSION = 'v1beta1';
/** Whose place this program takes: tools look for the name. */
const COMPONENT = 'kube-proxy';

const DELIMITERS = [':', ': ', '=', ' '] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** @param random from [0, 1) */
export function anyDelimiter(random: number): Delimiter {
  return DELIMITERS[Math.floor(random * DELIMITERS.length)] ?? ':';
}

export interface Status {
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly languageVersion: string;
  readonly binaryVersion: string;
  /** The Kubernetes version whose behaviour this is: `1.36`. */
  readonly emulationVersion: string;
  readonly paths: readonly string[];
}

export function statuszAnswer(status: Status, now: number, delimiter: Delimiter, asked: Asked): Answer {
  const { startedAt, languageVersion, binaryVersion, emulationVersion, paths } = status;
  const uptimeSeconds = Math.max(Math.floor((now - startedAt) / 1000), 0);
  const lines = [
    ['Started', unixDate(startedAt)],
    ['Up', uptime(uptimeSeconds)],
    ['Go version', languageVersion],
    ['Binary version', binaryVersion],
    ['Emulation version', emulationVersion],
    ['Paths', paths.join(' ')],
  ];
  return zpageAnswer('Statusz', asked, {
    text: `\n${lines.map(([name, value]) => `${name}${delimiter} ${value}\n`).join('')}`,
    fields: {
      startTime: new Date(startedAt).toISOString().replace(/\.\d+Z$/, 'Z'),
      uptimeSeconds,
      goVersion: languageVersion,
      binaryVersion,
      emulationVersion,
      paths,
    },
  });
}

/** @param flags by name, without dashes */
export function flagzAnswer(
  flags: Readonly<Record<string, string>>,
  delimiter: Delimiter,
  asked: Asked,
): Answer {
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  return zpageAnswer('Flagz', asked, {
    text: sorted.map(([name, value]) => `${name}${delimiter}${value}\n`).join(''),
    fields: { flags: Object.fromEntries(sorted) },
  });
}

type Kind = 'Statusz' | 'Flagz';

interface Page {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function zpageAnswer(kind: Kind, asked: Asked, { text, fields }: Page): Answer {
  const object = { kind, apiVersion: `${GROUP}/${VERSION}`, metadata: { name: COMPONENT }, ...fields };
  const parameters = `g=${GROUP};v=${VERSION};as=${kind}`;
  switch (formatFor(kind, asked.accept)) {
    case 'text':
      return { status: 200, headers: TEXT, body: `${heading(kind)}${text}` };
    case 'json':
      return {
        status: 200,
        headers: { 'Content-Type': `application/json;${parameters}` },
        body: isForPeople(asked) ? JSON.stringify(object, undefined, 2) : `${JSON.stringify(object)}\n`,
      };
    case 'yaml':
      return {
        status: 200,
        headers: { 'Content-Type': `application/yaml;${parameters}` },
        body: yamlOf(object),
      };
    case 'none':
      return NOT_ACCEPTABLE;
  }
}

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };

function heading(kind: Kind): string {
  return `
${COMPONENT} ${kind.toLowerCase()}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
`;
}

const NOT_ACCEPTABLE: Answer = {
  status: 406,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(
    {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
      reason: 'NotAcceptable',
      code: 406,
    },
    undefined,
    2,
  ),
};

/** Structures have to be asked for by group, version and kind; text must not be. */
function formatFor(kind: Kind, accept: string): 'text' | 'json' | 'yaml' | 'none' {
  if (accept.trim() === '') return 'text';
  for (const { type, params } of acceptedTypes(accept)) {
    const [group, version, as] = [params.get('g'), params.get('v'), params.get('as')];
    if (group === GROUP && version === VERSION && as === kind) {
      if (['application/json', 'application/*', '*/*'].includes(type)) return 'json';
      if (type === 'application/yaml') return 'yaml';
    }
    const plain = group === undefined && version === undefined && as === undefined;
    if (plain && ['text/plain', 'text/*', '*/*'].includes(type)) return 'text';
  }
  return 'none';
}

/** As the API server sees it: `?pretty=true`, or what people use. */
function isForPeople({ query, userAgent }: Asked): boolean {
  const wanted = query.get('pretty');
  if (wanted) return /^(1|t|true)$/i.test(wanted);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

/** Maps, lists of texts, texts and numbers; a text in JSON's quotes is one in YAML too. */
function yamlOf(object: Readonly<Record<string, unknown>>, indent = ''): string {
  return Object.entries(object)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => {
      if (Array.isArray(value)) {
        return `${indent}${name}:\n${value.map((one) => `${indent}- ${JSON.stringify(one)}\n`).join('')}`;
      }
      if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
        return `${indent}${name}:\n${yamlOf(value as Record<string, unknown>, `${indent}  `)}`;
      }
      return `${indent}${name}: ${JSON.stringify(value)}\n`;
    })
    .join('');
}

/** Go's `time.UnixDate`, in UTC: `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(milliseconds: number): string {
  const [weekday = '', day = '', month, year, time] = new Date(milliseconds).toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${`${Number(day)}`.padStart(2)} ${time} UTC ${year}`;
}

function uptime(seconds: number): string {
  const pad = (value: number) => `${value % 60}`.padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${pad(Math.floor(seconds / 60))} min ${pad(seconds)} sec`;
}
