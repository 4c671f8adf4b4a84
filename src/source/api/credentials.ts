/** Chooses where credentials come from, by the rules of kube-proxy's `--kubeconfig` and `--master`. */
import { type Credentials, serverUrl } from './access.ts';
import { inClusterCredentials } from './in-cluster.ts';
import { kubeconfigCredentials } from './kubeconfig-credentials.ts';
import type { Log } from './options.ts';

/**
 * A kubeconfig, whose server `master` overrides; `master` alone, without credentials; neither (both empty): the
 * service account of this pod. Rejects with what is wrong and what to do.
 */
export async function loadCredentials(kubeconfig: string, master: string, log: Log): Promise<Credentials> {
  if (kubeconfig !== '') return kubeconfigCredentials(kubeconfig, master, log);
  if (master === '') return inClusterCredentials(log);
  return {
    server: serverUrl(master, false, '--master'),
    origin: '--master, without credentials',
    access: async () => ({ tls: {}, headers: {} }),
    forget() {},
  };
}
