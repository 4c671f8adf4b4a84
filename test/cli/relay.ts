/** Passes connections on, from a port of this network to a socket in the file system, which every network has. */
import { connect, createServer } from 'node:net';

const [port, path = ''] = process.argv.slice(2);
createServer((here) => {
  const there = connect(path);
  here.on('error', () => there.destroy());
  there.on('error', () => here.destroy());
  here.pipe(there).pipe(here);
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'));
