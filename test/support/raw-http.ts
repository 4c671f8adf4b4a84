/** HTTP as it is on the wire, for answers that have to be right to the byte. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** Sends a request line and headers, and gives the whole answer but for its Date. */
export async function rawRequest(
  port: number,
  line: string,
  headers: readonly string[] = [],
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const reply = text(socket);
  socket.write([`${line} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers, '', ''].join('\r\n'));
  return (await reply).replace(/^Date: .*\r\n/m, '');
}

/** An answer as `rawRequest` gives it. */
export function rawAnswer(status: string, headers: readonly string[], body: string): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return [`HTTP/1.1 ${status}`, ...headers, length, 'Connection: close', '', body].join('\r\n');
}
