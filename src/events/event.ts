/** An Event of events.k8s.io/v1, as kube-proxy sends them. */

/** What an Event is about. */
export interface Regarding {
  readonly kind: 'Node' | 'Service';
  /** Empty for a Node. */
  readonly namespace: string;
  readonly name: string;
}

export interface EventSpec {
  readonly regarding: Regarding;
  readonly type: 'Normal' | 'Warning';
  /** One word: `Starting`. */
  readonly reason: string;
  /** What was being done: `StartKubeProxy`. */
  readonly action: string;
  /** For people; may be empty. */
  readonly note: string;
}

export interface Reporter {
  /** The host name. */
  readonly host: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Makes the name unlike any other of the same millisecond. */
  readonly serial: number;
}

/** The name tools filter by, whichever program does kube-proxy's work. */
const CONTROLLER = 'kube-proxy';

/** The API server's limits (`pkg/apis/core/validation/events.go`). */
const MAX_NOTE_BYTES = 1024;
const MAX_INSTANCE = 128;
const MAX_NAME = 253;

export interface EventObject {
  readonly apiVersion: 'events.k8s.io/v1';
  readonly kind: 'Event';
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly action: string;
  readonly reason: string;
  readonly regarding: Readonly<Record<string, string>>;
  readonly note: string;
  readonly type: string;
}

/** @param uid of what it is about: `kubectl describe` looks Events up by it */
export function eventObject(spec: EventSpec, uid: string, { host, now, serial }: Reporter): EventObject {
  const { kind, namespace, name } = spec.regarding;
  // As client-go names them: what it is about, and nanoseconds in hexadecimal.
  const suffix = `.${(BigInt(now) * 1_000_000n + BigInt(serial)).toString(16)}`;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      name: `${name.slice(0, MAX_NAME - suffix.length)}${suffix}`,
      namespace: namespace || 'default',
    },
    eventTime: microTime(now),
    reportingController: CONTROLLER,
    reportingInstance: `${CONTROLLER}-${host}`.slice(0, MAX_INSTANCE),
    action: spec.action,
    reason: spec.reason,
    regarding: { apiVersion: 'v1', kind, ...(namespace === '' ? {} : { namespace }), name, uid },
    note: shortened(spec.note),
    type: spec.type,
  };
}

/** `metav1.MicroTime`: always six digits. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}

function shortened(note: string): string {
  if (Buffer.byteLength(note) <= MAX_NOTE_BYTES) return note;
  const ellipsis = ' …';
  const bytes = Buffer.from(note).subarray(0, MAX_NOTE_BYTES - Buffer.byteLength(ellipsis));
  // What was cut in the middle of a character ends with the replacement character.
  return `${bytes.toString('utf8').replace(/\uFFFD+$/, '')}${ellipsis}`;
}
