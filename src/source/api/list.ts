/** One LIST, its objects handed on while they stream in. */
import { ApiError, errorText, type Fields, isFields } from './api-error.ts';
import { readBody } from './body.ts';
import { ListSplitter } from './list-splitter.ts';
import type { ApiResource } from './resources.ts';
import type { Transport } from './transport.ts';

export interface ListRequest {
  readonly transport: Transport;
  readonly resource: ApiResource;
  /** Selectors and `resourceVersion`. */
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly responseMs: number;
}

export interface ListHandlers {
  object(object: unknown): void;
  /** One of the items is no valid JSON. */
  unreadable(error: unknown): void;
}

/**
 * Hands on every object and gives the list's resourceVersion. A list that comes in pages is read to its end.
 * Rejects with an `ApiError` (what was handed on until then is then not the whole), or with what a handler throws.
 */
export async function list(request: ListRequest, handlers: ListHandlers): Promise<string> {
  let query = request.query;
  for (;;) {
    const metadata = await listPage(request, query, handlers);
    if (typeof metadata.resourceVersion !== 'string' || metadata.resourceVersion === '') {
      throw new ApiError(
        'malformed',
        `list ${request.resource.name}: the list has no metadata.resourceVersion`,
      );
    }
    if (typeof metadata.continue !== 'string' || metadata.continue === '') return metadata.resourceVersion;
    // The token stands for the resourceVersion too, and the two may not come together.
    const { resourceVersion: _, ...rest } = query;
    query = { ...rest, continue: metadata.continue };
  }
}

async function listPage(
  { transport, resource, signal, responseMs }: ListRequest,
  query: Readonly<Record<string, string>>,
  handlers: ListHandlers,
): Promise<Fields> {
  const what = `list ${resource.name}`;
  const response = await transport.send({ what, path: resource.path, query, signal, responseMs });
  const splitter = new ListSplitter((json) => {
    let object: unknown;
    try {
      object = JSON.parse(json.toString('utf8'));
    } catch (error) {
      return handlers.unreadable(error);
    }
    handlers.object(object);
  });
  await readBody(response, what, (chunk) => splitter.push(chunk), { idleMs: () => responseMs });
  let envelope: unknown;
  try {
    envelope = splitter.end();
  } catch (error) {
    throw new ApiError('malformed', `${what}: the answer is no whole list: ${errorText(error)}`, {
      cause: error,
    });
  }
  return isFields(envelope) && isFields(envelope.metadata) ? envelope.metadata : {};
}
