/**
 * Builds `dist/` (or the directory that is its argument): the command `kube-rulesync.js` and the parts it loads when
 * they are needed, with all npm packages inside. It runs on any Node from 22.19 on.
 */
import { chmod, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..');
const dist = resolve(process.argv[2] ?? join(root, 'dist'));

/**
 * `await import('yaml')` of a CommonJS package has its named exports in Node, and only `default` in a bundle.
 * Gives such an import the names that Node finds.
 */
const namedExports: Plugin = {
  name: 'named-exports',
  setup(setup) {
    setup.onResolve({ filter: /^[^./]/ }, async ({ path, kind, namespace }) => {
      if (kind !== 'dynamic-import' || namespace !== 'file' || path.startsWith('node:')) return undefined;
      const names = await namesOfCommonJs(path);
      return names && { path, namespace: 'named-exports', pluginData: names };
    });
    setup.onLoad({ filter: /.*/, namespace: 'named-exports' }, ({ path, pluginData }) => ({
      contents: `import whole from '${path}';
        export default whole;
        export const { ${(pluginData as string[]).join(', ')} } = whole;`,
      resolveDir: root,
    }));
  },
};

/** What Node exports of a CommonJS package, beside all of it as `default`; `undefined` for an ES module. */
async function namesOfCommonJs(path: string): Promise<string[] | undefined> {
  const exported = (await import(path)) as Record<string, unknown>;
  const whole = exported.default as Record<string, unknown> | undefined;
  const names = Object.keys(exported).filter((name) => name !== 'default' && /^[A-Za-z_$][\w$]*$/.test(name));
  return whole && names.every((name) => whole[name] === exported[name]) ? names : undefined;
}

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
  plugins: [namedExports],
  logLevel: 'warning',
});
await chmod(join(dist, 'kube-rulesync.js'), 0o755);
