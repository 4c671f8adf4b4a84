/** Credentials of a pod: its service account's files and two environment variables (client-go `InClusterConfig`). */
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { type Credentials, TokenFile } from './access.ts';
import { errorText } from './api-error.ts';
import type { Log } from './options.ts';

export const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Rejects when this is no pod, or one without a service account token. */
export async function inClusterCredentials(
  log: Log,
  env: NodeJS.ProcessEnv = process.env,
  directory: string = SERVICE_ACCOUNT_DIRECTORY,
): Promise<Credentials> {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    throw new Error(
      'not in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); use --kubeconfig, --master or --manifests',
    );
  }
  const caFile = join(directory, 'ca.crt');
  const token = new TokenFile(join(directory, 'token'), log);
  const access = async () => ({
    tls: { ca: await readFile(caFile) },
    headers: { authorization: `Bearer ${await token.read()}` },
  });
  try {
    await access();
  } catch (error) {
    throw new Error(
      `service account of this pod: ${errorText(error)}; does the pod set automountServiceAccountToken: false?`,
      { cause: error },
    );
  }
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    origin: `service account in ${directory}`,
    access,
    // Both files are read for every request: there is nothing to forget.
    forget() {},
  };
}
