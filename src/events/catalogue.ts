/** Every Event this program sends: what is always the same in it, and how it is beside kube-proxy 1.36's. */
import type { Parity } from '../docs/parity.ts';
import type { EventSpec } from './event.ts';

interface EventKind extends Pick<EventSpec, 'type' | 'action'> {
  readonly about: EventSpec['regarding']['kind'];
  readonly when: string;
  readonly parity: Parity;
}

const HARD_FAIL = 'a server cannot listen, with `--bind-address-hard-fail`';

export const EVENTS = {
  Starting: {
    type: 'Normal',
    action: 'StartKubeProxy',
    about: 'Node',
    when: 'at the start',
    parity: 'same',
  },
  IPVSDeprecation: {
    type: 'Warning',
    action: 'StartKubeProxy',
    about: 'Node',
    when: 'at the start, in IPVS mode',
    parity: {
      different:
        "it says that the mode stays here, and that kube-proxy's is on its way out (KEP-5495): there is no way back to a kube-proxy that no longer has it",
    },
  },
  FailedToStartProxierHealthcheck: {
    type: 'Warning',
    action: 'StartKubeProxy',
    about: 'Node',
    when: HARD_FAIL,
    parity: 'same',
  },
  FailedToStartMetricServer: {
    type: 'Warning',
    action: 'StartKubeProxy',
    about: 'Node',
    when: HARD_FAIL,
    parity: 'same',
  },
  FailedToStartServiceHealthcheck: {
    type: 'Warning',
    action: 'Listen',
    about: 'Service',
    when: 'its health check port cannot be opened',
    parity: { different: "it carries the Service's uid, by which `kubectl describe` finds it" },
  },
  ServiceSetAside: {
    type: 'Warning',
    action: 'SyncProxyRules',
    about: 'Service',
    when: 'its rules were refused; it keeps those it had until it changes',
    parity: 'ours',
  },
} as const satisfies Readonly<Record<string, EventKind>>;

export type EventReason = keyof typeof EVENTS;

/** Reasons of Events about that kind of object. */
export type ReasonAbout<Kind extends EventKind['about']> = {
  [Reason in EventReason]: (typeof EVENTS)[Reason]['about'] extends Kind ? Reason : never;
}[EventReason];
