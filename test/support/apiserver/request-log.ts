/** What the server was asked, and waiting for it. */
import type { Verb } from './faults.ts';

export interface RequestRecord {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly verb: Verb | 'other';
  /** Plural; empty for paths that are no resource. */
  readonly resource: string;
  /** Lower-case names, as node has them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Number of the TCP connection it came on, from 1. */
  readonly connection: number;
  /** 0 while it is not answered. */
  status: number;
}

export class RequestLog {
  readonly #records: RequestRecord[] = [];
  readonly #waiting = new Set<() => void>();

  get all(): readonly RequestRecord[] {
    return this.#records;
  }

  add(record: RequestRecord): void {
    this.#records.push(record);
    this.changed();
  }

  /** To be called when anything changed that someone could wait for. */
  changed(): void {
    for (const check of this.#waiting) check();
  }

  /** Resolves once `condition` holds; rejects, saying what came instead, when it does not within the deadline. */
  until(condition: (requests: readonly RequestRecord[]) => boolean, deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (error?: Error) => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        if (error) reject(error);
        else resolve();
      };
      const check = () => {
        if (condition(this.#records)) finish();
      };
      const timer = setTimeout(() => {
        const lines = this.#records.map(
          ({ verb, resource, query, status }) => `${verb} ${resource} ${JSON.stringify(query)} -> ${status}`,
        );
        finish(new Error(`no such request within ${deadlineMs} ms; there were:\n${lines.join('\n')}`));
      }, deadlineMs);
      this.#waiting.add(check);
      check();
    });
  }
}
