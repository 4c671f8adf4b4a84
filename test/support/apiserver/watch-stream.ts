/** One open watch: what it has been sent, and the ways it can go wrong. */
import type { ServerResponse } from 'node:http';
import { jsonOf, type KubeObject, type ResourceType } from './objects.ts';
import type { Matcher } from './selectors.ts';
import type { StoreEvent } from './store.ts';

export interface WatchStreamOptions {
  readonly response: ServerResponse;
  readonly type: ResourceType;
  readonly matches: Matcher;
  readonly bookmarks: boolean;
}

export class WatchStream {
  readonly type: ResourceType;
  readonly #response: ServerResponse;
  readonly #matches: Matcher;
  readonly #bookmarks: boolean;
  /** Nothing is written any more, and the connection stays open. */
  #frozen = false;

  constructor({ response, type, matches, bookmarks }: WatchStreamOptions) {
    this.#response = response;
    this.type = type;
    this.#matches = matches;
    this.#bookmarks = bookmarks;
  }

  added(object: KubeObject): void {
    this.#event('ADDED', object);
  }

  /** A change, as it looks through this watch's selectors: leaving them is DELETED, entering them ADDED. */
  changed({ object, previous, deleted, type }: StoreEvent): void {
    if (type !== this.type) return;
    const was = previous !== undefined && this.#matches(previous);
    const is = !deleted && this.#matches(object);
    if (was && is) this.#event('MODIFIED', object);
    else if (is) this.#event('ADDED', object);
    else if (was) this.#event('DELETED', object);
  }

  /** Sent only when the client asked for bookmarks. */
  bookmark(version: number, initialEventsEnd = false): void {
    if (!this.#bookmarks) return;
    const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
    this.#event('BOOKMARK', {
      kind: this.type.kind,
      apiVersion: this.type.apiVersion,
      metadata: { resourceVersion: String(version), ...annotations },
    });
  }

  error(status: object): void {
    this.#event('ERROR', status);
  }

  raw(text: string | Buffer): void {
    if (!this.#frozen) this.#response.write(text);
  }

  freeze(): void {
    this.#frozen = true;
  }

  end(): void {
    if (!this.#frozen) this.#response.end();
  }

  #event(type: string, object: object): void {
    this.raw(`{"type":${JSON.stringify(type)},"object":${jsonOf(object)}}\n`);
  }
}
