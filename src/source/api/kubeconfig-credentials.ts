/** Credentials from a kubeconfig: files are read again for each request, plug-ins are left to client-node. */
import { readFile } from 'node:fs/promises';
import { type Access, type Credentials, serverUrl, type Tls, TokenFile } from './access.ts';
import { errorText } from './api-error.ts';
import { type ClusterEntry, type Kubeconfig, readKubeconfig, type UserEntry } from './kubeconfig.ts';
import type { Log } from './options.ts';
import { pluginAccess } from './plugin-access.ts';

type AccessFunction = () => Promise<Access>;

/**
 * `master` replaces the cluster's server unless it is empty. Rejects when the kubeconfig is of no use. When the
 * server refuses the credentials the whole file is read again: it may have been replaced meanwhile.
 */
export async function kubeconfigCredentials(path: string, master: string, log: Log): Promise<Credentials> {
  const origin = `kubeconfig ${path}`;
  const first = await readKubeconfig(path);
  const server = serverOf(first, master, origin);
  let access: Promise<AccessFunction> | undefined = Promise.resolve(accessOf(first, server, log));

  const again = async (): Promise<AccessFunction> => {
    const kubeconfig = await readKubeconfig(path);
    const now = serverOf(kubeconfig, master, origin);
    if (now !== server) {
      throw new Error(`${origin} now names another server (${now} instead of ${server}); restart to use it`);
    }
    return accessOf(kubeconfig, server, log);
  };

  return {
    server,
    origin,
    async access() {
      access ??= again();
      const current = access;
      try {
        return await (await current)();
      } catch (error) {
        // The next call reads the kubeconfig again: what failed may have been put right.
        if (access === current) access = undefined;
        throw error;
      }
    },
    forget() {
      access = undefined;
    },
  };
}

function serverOf({ cluster }: Kubeconfig, master: string, origin: string): string {
  const secure = Boolean(
    cluster['certificate-authority'] ||
      cluster['certificate-authority-data'] ||
      cluster['insecure-skip-tls-verify'],
  );
  return serverUrl(master || (cluster.server ?? ''), secure, origin);
}

function accessOf(kubeconfig: Kubeconfig, server: string, log: Log): AccessFunction {
  const { cluster, user } = kubeconfig;
  const token = user.tokenFile ? new TokenFile(user.tokenFile, log, user.token || undefined) : undefined;
  const plugin =
    user.exec || user['auth-provider'] || cluster['proxy-url'] ? pluginAccess(kubeconfig, server) : undefined;
  return async () => {
    const extra = await plugin?.();
    const authorization = token ? `Bearer ${await token.read()}` : fixedAuthorization(user);
    return {
      tls: { ...(await clusterTls(cluster)), ...(await clientTls(user)), ...extra?.tls },
      headers: {
        ...(authorization ? { authorization } : {}),
        ...(user.as ? { 'impersonate-user': user.as } : {}),
        ...extra?.headers,
      },
      ...(extra?.agent ? { agent: extra.agent } : {}),
    };
  };
}

function fixedAuthorization(user: UserEntry): string | undefined {
  if (user.token) return `Bearer ${user.token.trim()}`;
  if (!user.username) return undefined;
  return `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`;
}

async function clusterTls(cluster: ClusterEntry): Promise<Tls> {
  const servername = cluster['tls-server-name'];
  const ca = await fileOrData(cluster['certificate-authority'], cluster['certificate-authority-data']);
  return {
    ...(ca ? { ca } : {}),
    ...(servername ? { servername } : {}),
    ...(cluster['insecure-skip-tls-verify'] ? { rejectUnauthorized: false } : {}),
  };
}

async function clientTls(user: UserEntry): Promise<Tls> {
  const cert = await fileOrData(user['client-certificate'], user['client-certificate-data']);
  const key = await fileOrData(user['client-key'], user['client-key-data']);
  return { ...(cert ? { cert } : {}), ...(key ? { key } : {}) };
}

/** Data goes before the file, as client-go has it. */
async function fileOrData(
  file: string | null | undefined,
  data: string | null | undefined,
): Promise<Buffer | undefined> {
  if (data) return Buffer.from(data, 'base64');
  if (!file) return undefined;
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
}
