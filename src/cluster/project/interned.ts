/**
 * One copy of text that thousands of objects repeat: names of nodes, zones, namespaces and ports. JSON.parse makes a
 * new string each time, which for 250,000 endpoints is tens of megabytes of the same few node names.
 */

/** Names come and go over months; starting over bounds what is kept, and costs only sharing. */
const MAX_ENTRIES = 50_000;

const strings = new Map<string, string>();
const singletons = new Map<string, readonly string[]>();

/** The text itself, in a copy shared with everyone else who has it. */
export function interned(text: string): string {
  const known = strings.get(text);
  if (known !== undefined) return known;
  if (strings.size >= MAX_ENTRIES) strings.clear();
  strings.set(text, text);
  return text;
}

/** `[text]`, shared: nearly every hint names one zone or one node. */
export function internedList(text: string): readonly string[] {
  const known = singletons.get(text);
  if (known !== undefined) return known;
  if (singletons.size >= MAX_ENTRIES) singletons.clear();
  const list = Object.freeze([interned(text)]);
  singletons.set(text, list);
  return list;
}
