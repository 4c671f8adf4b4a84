/**
 * `npm run bench -- NAME [arguments]`: each benchmark runs in a network namespace of its own, where this program,
 * an API server and the kernel's rules have nothing else beside them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createNamespace } from '../test/support/namespace.ts';
import { networkSupported } from '../test/support/network/supported.ts';

const BENCHMARKS: Readonly<Record<string, { readonly file: string; readonly about: string }>> = {
  sync: {
    file: 'sync.ts',
    about: 'first sync, changes and memory from source to kernel, beside kube-proxy’s own commands',
  },
  latency: {
    file: 'latency.ts',
    about: 'new connections to the first, middle and last of many Services, by mode',
  },
};

async function main(): Promise<number> {
  const [name, ...args] = process.argv.slice(2);
  const benchmark = name === undefined ? undefined : BENCHMARKS[name];
  if (benchmark === undefined) {
    const list = Object.entries(BENCHMARKS).map(([key, { about }]) => `  ${key}  ${about}`);
    console.error(['usage: npm run bench -- NAME [arguments]', '', ...list].join('\n'));
    return name === undefined ? 0 : 1;
  }
  const supported = networkSupported();
  if (!supported.ok) {
    console.error(`The benchmark cannot run here: ${supported.reason}`);
    return 1;
  }
  const namespace = await createNamespace();
  try {
    await namespace.runner.run({ argv: ['ip', 'link', 'set', 'lo', 'up'] });
    const script = new URL(benchmark.file, import.meta.url).pathname;
    const child = spawn('ip', ['netns', 'exec', namespace.name, process.execPath, script, ...args], {
      stdio: 'inherit',
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  } finally {
    await namespace.close();
  }
}

process.exitCode = await main();
