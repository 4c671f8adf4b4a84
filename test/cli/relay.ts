/**
 * Passes connections on between a port of this network and a socket in the file system, which every network has:
 * `relay.ts 6443 /tmp/api.sock` from the port to the socket, `relay.ts /tmp/healthz.sock 10256` the other way.
 */
import { connect, createServer } from 'node:net';

const HOST = '127.0.0.1';
const [from = '', to = ''] = process.argv.slice(2).map((end) => (/^\d+$/.test(end) ? Number(end) : end));
const server = createServer((here) => {
  const there = typeof to === 'number' ? connect(to, HOST) : connect(to);
  here.on('error', () => there.destroy());
  there.on('error', () => here.destroy());
  here.pipe(there).pipe(here);
});
const told = () => process.stdout.write('listening\n');
if (typeof from === 'number') server.listen(from, HOST, told);
else server.listen(from, told);
