/**
 * Builds `dist/`: the command `dist/kube-rulesync.js` and the parts it loads when they are needed, with all
 * npm packages inside. It runs on any Node from 22.19 on.
 */
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

await rm(dist, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: { 'kube-rulesync': 'src/cli/main.ts' },
  outdir: dist,
  chunkNames: 'parts/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  minify: true,
  // Error and class names are part of messages.
  keepNames: true,
  legalComments: 'linked',
  // CommonJS packages call require() for Node's own modules, and ES modules have none.
  banner: {
    js: `import { createRequire as createRequireForBundle } from 'node:module';const require = createRequireForBundle(import.meta.url);`,
  },
  logLevel: 'warning',
});
await chmod(join(dist, 'kube-rulesync.js'), 0o755);
