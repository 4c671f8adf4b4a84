import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Connections } from './connections.ts';

function sockets(count: number): Socket[] {
  return Array.from({ length: count }, () => new Socket());
}

const closed = (all: readonly Socket[]) => all.map(({ destroyed }) => destroyed);

test('the ones that have been quiet longest go, at once', () => {
  const connections = new Connections(2);
  const all = sockets(5);
  // None of them is closed before the last one comes.
  for (const socket of all) connections.add(socket);
  expect(closed(all)).toEqual([true, true, true, false, false]);
  expect(connections.size).toBe(2);
});

test('whoever asks is not quiet', () => {
  const connections = new Connections(2);
  const [first, second, third] = sockets(3) as [Socket, Socket, Socket];
  connections.add(first);
  connections.add(second);
  connections.heard(first);
  connections.add(third);
  expect(closed([first, second, third])).toEqual([false, true, false]);
  // What is gone does not come back by an answer that was on its way.
  connections.heard(second);
  expect(connections.size).toBe(2);
});

test('one that is closed makes room', async () => {
  const connections = new Connections(2);
  const [first, second, third] = sockets(3) as [Socket, Socket, Socket];
  connections.add(first);
  connections.add(second);
  const gone = new Promise((resolve) => first.once('close', resolve));
  first.destroy();
  await gone;
  expect(connections.size).toBe(1);
  connections.add(third);
  expect(closed([second, third])).toEqual([false, false]);
});
