/**
 * Values of YAML as Kubernetes reads them. It reads YAML 1.1 the way go-yaml does (`resolve` in go.yaml.in/yaml/v2):
 * `yes` and `on` are true and `016` is 14, but `12:30` is text, and so is a date, as what comes of it is JSON.
 */
import type { ScalarTag, Schema } from 'yaml';

const PREFIX = 'tag:yaml.org,2002:';

const NULL: ScalarTag = {
  tag: `${PREFIX}null`,
  default: true,
  test: /^(?:~|null|Null|NULL)?$/,
  identify: (value) => value === null,
  resolve: () => null,
};

const BOOL: ScalarTag = {
  tag: `${PREFIX}bool`,
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  identify: (value) => typeof value === 'boolean',
  resolve: (text) => /^(?:y|t|on)/i.test(text),
};

/** Of what begins with 0 and is no octal number, `08` say, the next one makes a decimal one: so does go-yaml. */
const INT: ScalarTag = {
  tag: `${PREFIX}int`,
  default: true,
  test: /^(?:[-+]_*)?(?:0(?:_*[bB]_*[01][01_]*|_*[oO]_*[0-7][0-7_]*|_*[xX]_*[\da-fA-F][\da-fA-F_]*|[0-7_]*)|[1-9][\d_]*)$/,
  identify: Number.isInteger,
  resolve: (text) => whole(text.replaceAll('_', '')),
};

const FLOAT: ScalarTag = {
  tag: `${PREFIX}float`,
  default: true,
  test: /^(?:[-+]_*)?(?:\.\d[\d_]*|\d[\d_]*(?:\.[\d_]*)?)(?:[eE]_*[-+]?_*\d[\d_]*)?$/,
  identify: (value) => typeof value === 'number',
  resolve(text) {
    const value = Number(text.replaceAll('_', ''));
    return Number.isFinite(value) ? value : text;
  },
};

const NOT_FINITE: ScalarTag = {
  tag: `${PREFIX}float`,
  default: true,
  test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  resolve(text) {
    if (/nan$/i.test(text)) return Number.NaN;
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  },
};

function whole(text: string): number {
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/.exec(text) ?? [];
  const octal = /^0o?([0-7]+)$/i.exec(digits)?.[1];
  // `Number` knows the other prefixes.
  const size = octal === undefined ? Number(digits) : Number.parseInt(octal, 8);
  return size === 0 ? 0 : size * (sign === '-' ? -1 : 1);
}

let schema: Schema | undefined;

/**
 * The schema to read documents with; the merge key is part of it. Other tags than those of values (`!!timestamp`,
 * `!!set`) change nothing.
 * @param yaml the package, which is loaded when there is something to read
 */
export function goYamlSchema(yaml: typeof import('yaml')): Schema {
  schema ??= new yaml.Schema({
    schema: 'failsafe',
    customTags: (tags) => [...tags, NULL, BOOL, INT, FLOAT, NOT_FINITE],
    merge: true,
    resolveKnownTags: false,
  });
  return schema;
}
