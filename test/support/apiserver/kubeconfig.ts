/** Kubeconfigs for the test API server. */
import { stringify } from 'yaml';

/** The text of a kubeconfig with one cluster, user and context; `cluster` and `user` as the format has them. */
export function kubeconfigText(
  server: string,
  user: Readonly<Record<string, unknown>> = {},
  cluster: Readonly<Record<string, unknown>> = {},
): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, ...cluster } }],
    users: [{ name: 'proxy', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'proxy' } }],
    'current-context': 'test',
  });
}
