/** kubectl's own building of kustomizations, where kubectl is installed. */
import { spawnSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './kustomize.ts';

/** Why kubectl cannot be asked; `undefined` when it can. */
export function kubectlMissing(): string | undefined {
  const { error, status } = spawnSync('kubectl', ['kustomize', '--help'], { stdio: 'ignore' });
  return error || status !== 0 ? 'there is no kubectl that knows kustomize' : undefined;
}

/** The objects that `kubectl kustomize` prints. Throws with its message. */
export function kubectlKustomize(folder: string): Manifest[] {
  const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`kubectl kustomize ${folder}: ${stderr}`);
  const documents = parseAllDocuments(stdout);
  return 'empty' in documents ? [] : documents.map((document) => document.toJS() as Manifest);
}
