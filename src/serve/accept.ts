/** The Accept header (RFC 9110, 12.5.1). */

export interface AcceptedType {
  /** In lower case: `application/json`, or with a wildcard: `text/*`. */
  readonly type: string;
  /** Its parameters but `q`, names in lower case. */
  readonly params: ReadonlyMap<string, string>;
}

/** What a client takes, what it likes best first; what it rejects (`q=0`) and what makes no sense is left out. */
export function acceptedTypes(header: string): AcceptedType[] {
  const ranges = header.split(',').flatMap((text) => {
    const [type = '', ...rest] = text.split(';').map((part) => part.trim());
    if (!/^[^\s/]+\/[^\s/]+$/.test(type)) return [];
    const params = new Map(rest.map(readParameter));
    const quality = Number(params.get('q') ?? 1);
    params.delete('q');
    return quality > 0 ? [{ type: type.toLowerCase(), params, quality }] : [];
  });
  // Sorting is stable: among equals the first one named comes first.
  return ranges.sort((a, b) => b.quality - a.quality).map(({ type, params }) => ({ type, params }));
}

function readParameter(text: string): [string, string] {
  const [name = '', value = ''] = text.split(/=(.*)/s);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')];
}
