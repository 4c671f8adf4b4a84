/** Changes to maps and lists that can be taken back: how a script is applied whole or not at all. */
export class Journal {
  readonly #undo: (() => void)[] = [];

  /** Puts a value under a key. */
  put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    this.#keep(map, key);
    map.set(key, value);
  }

  /** Takes a key away. */
  remove<Key, Value>(map: Map<Key, Value>, key: Key): void {
    this.#keep(map, key);
    map.delete(key);
  }

  /** Takes every key away. */
  clear<Key, Value>(map: Map<Key, Value>): void {
    const entries = [...map];
    this.#undo.push(() => {
      for (const [key, value] of entries) map.set(key, value);
    });
    map.clear();
  }

  /** Replaces `count` items of a list from `at` on. */
  splice<Item>(list: Item[], at: number, count: number, ...items: Item[]): void {
    const removed = list.splice(at, count, ...items);
    this.#undo.push(() => {
      list.splice(at, items.length, ...removed);
    });
  }

  #keep<Key, Value>(map: Map<Key, Value>, key: Key): void {
    const before = map.get(key);
    this.#undo.push(
      before === undefined
        ? () => {
            map.delete(key);
          }
        : () => {
            map.set(key, before);
          },
    );
  }

  /** Takes everything back, the last change first. */
  rollBack(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo.length = 0;
  }
}
