/** The table of Events in docs/metrics.md. */
import { code, markdownTable } from '../docs/markdown.ts';
import { parityText } from '../docs/parity.ts';
import { EVENTS } from './catalogue.ts';

export function eventsTable(): string {
  const rows = Object.entries(EVENTS).map(([reason, { action, about, type, when, parity }]) => [
    code(reason),
    code(action),
    about,
    type,
    when,
    parityText(parity),
  ]);
  return markdownTable(['Reason', 'Action', 'About', 'Type', 'When', 'Beside kube-proxy'], rows);
}
