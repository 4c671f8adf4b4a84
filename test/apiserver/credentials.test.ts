/** Who we are to the server, and what happens when that changes. */
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadCredentials } from '../../src/source/api/credentials.ts';
import { inClusterCredentials } from '../../src/source/api/in-cluster.ts';
import { apiResources } from '../../src/source/api/resources.ts';
import { type ApiSourceOptions, apiSourceOf } from '../../src/source/api/source.ts';
import { createTransport } from '../../src/source/api/transport.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/apiserver/apiserver.ts';
import { canMakeCertificates, makeCertificate } from '../support/apiserver/certificate.ts';
import { kubeconfigText } from '../support/apiserver/kubeconfig.ts';
import { RecordingSink } from '../support/apiserver/recording-sink.ts';
import { FAST, type RunningSource, runSource } from '../support/apiserver/run-source.ts';
import { service } from '../support/apiserver/samples.ts';

const quiet = { info: () => {}, warn: () => {}, debug: () => {} };
const cleanups: (() => Promise<unknown>)[] = [];
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'credentials-'));
  cleanups.push(() => rm(directory, { recursive: true }));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(options: ApiServerOptions = {}): Promise<ApiServer> {
  const api = await startApiServer({ bookmarkMs: 0, objects: [service('web', '10.96.0.1')], ...options });
  cleanups.push(api.close);
  return api;
}

/** Writes a file as the kubelet does: whole, under another name, then put in place. */
async function put(name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
  return path;
}

async function start(options: Partial<ApiSourceOptions>): Promise<RunningSource> {
  const source = await runSource({ kinds: ['Service'], ...options });
  cleanups.push(source.stop);
  return source;
}

/** A source that has listed through the kubeconfig with this user and cluster. */
async function listed(
  api: ApiServer,
  user: Record<string, unknown>,
  cluster: Record<string, unknown> = {},
): Promise<RunningSource> {
  const kubeconfig = await put('config', kubeconfigText(api.url, user, cluster));
  const source = await start({ kubeconfig });
  await source.sink.until(() => source.sink.keys('Service')?.length === 1);
  await api.until(() => api.watches() === 1);
  return source;
}

const statuses = (api: ApiServer) => api.requests.map(({ status }) => status);

describe('tokenFile of a kubeconfig', () => {
  test('is read for every request, so that a rotated token is used from the next on', async () => {
    const api = await serve({ token: 'first' });
    await put('token', 'first\n');
    await listed(api, { tokenFile: 'token' });
    await put('token', 'second\n');
    api.setToken('second');
    api.cut();
    await api.until((requests) => requests.length === 2 && api.watches() === 1);
    expect(api.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first',
      'Bearer second',
    ]);
    expect(statuses(api)).toEqual([200, 200]);
  });

  test('refused: read again and tried again at once, then with pauses, until it is replaced', async () => {
    const api = await serve({ token: 'first' });
    await put('token', 'first');
    const source = await listed(api, { tokenFile: 'token' });
    api.setToken('second');
    api.cut();
    await source.sink.until(() => source.sink.statuses.get('Service')?.error?.includes('401') ?? false);
    expect(source.sink.statuses.get('Service')?.error).toBe(
      `watch services: HTTP 401: Unauthorized: the server does not accept the credentials of kubeconfig ${join(directory, 'config')}`,
    );
    // The cut connection, then one pause for each pair of refused requests.
    expect(source.restarts.slice(0, 2)).toEqual(['Service dropped', 'Service error']);
    expect(statuses(api).slice(0, 3)).toEqual([200, 401, 401]);
    await put('token', 'second');
    await api.until(() => api.watches() === 1);
    expect(source.sink.replacements('Service')).toBe(1);
  });

  test('gone for a while: the last token goes on being used', async () => {
    const api = await serve({ token: 'first' });
    const path = await put('token', 'first');
    const source = await listed(api, { tokenFile: 'token' });
    await rm(path);
    api.cut();
    await api.until((requests) => requests.length === 2 && api.watches() === 1);
    expect(statuses(api)).toEqual([200, 200]);
    expect(source.logged).toContain(
      `using the last token that could be read: ENOENT: no such file or directory, open '${path}'`,
    );
  });

  test('goes before a token, which serves while there is no file', async () => {
    const api = await serve({ token: 'fixed' });
    await listed(api, { tokenFile: 'token', token: 'fixed' });
    await put('token', 'from-file');
    api.setToken('from-file');
    api.cut();
    await api.until((requests) => requests.length === 2 && api.watches() === 1);
    expect(statuses(api)).toEqual([200, 200]);
  });
});

test('user name and password, and impersonation', async () => {
  const api = await serve();
  await listed(api, { username: 'me', password: 'secret', as: 'system:kube-proxy' });
  expect(api.requests[0]?.headers).toMatchObject({
    authorization: 'Basic bWU6c2VjcmV0',
    'impersonate-user': 'system:kube-proxy',
  });
});

describe('an exec plug-in', () => {
  async function plugin(): Promise<Record<string, unknown>> {
    const path = await put(
      'plugin.sh',
      `#!/bin/sh
cd "$(dirname "$0")"
echo "$KUBERNETES_EXEC_INFO" > info
echo run >> runs
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat token)"
`,
    );
    await chmod(path, 0o755);
    return {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: './plugin.sh',
        interactiveMode: 'Never',
        provideClusterInfo: true,
      },
    };
  }

  test('is asked once, told what it is for, and asked again when its token is refused', async () => {
    const api = await serve({ token: 'first' });
    await put('token', 'first');
    const source = await listed(api, await plugin());
    expect(JSON.parse(await readFile(join(directory, 'info'), 'utf8'))).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: api.url } },
    });
    api.endWatches();
    await api.until((requests) => requests.length === 2 && api.watches() === 1);
    expect(await readFile(join(directory, 'runs'), 'utf8')).toBe('run\n');

    await put('token', 'second');
    api.setToken('second');
    api.endWatches();
    await api.until((requests) => requests.length === 4 && api.watches() === 1);
    expect(statuses(api)).toEqual([200, 200, 401, 200]);
    expect(await readFile(join(directory, 'runs'), 'utf8')).toBe('run\nrun\n');
    expect(source.restarts).toEqual(['Service ended', 'Service ended']);
  });

  test('that fails is named and tried again', async () => {
    const api = await serve();
    const user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './missing.sh' } };
    const kubeconfig = await put('config', kubeconfigText(api.url, user));
    const source = await start({ kubeconfig });
    await source.sink.until(() => source.waits.length >= 2);
    expect(source.sink.statuses.get('Service')?.error).toBe(
      `watch services: ./missing.sh of kubeconfig ${kubeconfig}: spawn ${join(directory, 'missing.sh')} ENOENT`,
    );
  });
});

describe('which server', () => {
  const access = async (kubeconfig: string, master: string) =>
    (await loadCredentials(kubeconfig, master, quiet)).server;

  test('--master goes before that of the kubeconfig, whose credentials stay', async () => {
    const api = await serve({ token: 'mine' });
    const kubeconfig = await put('config', kubeconfigText('https://192.0.2.1:6443', { token: 'mine' }));
    const source = await start({ kubeconfig, master: api.url });
    await source.sink.until(() => source.sink.keys('Service')?.length === 1);
    expect(statuses(api)).toEqual([200]);
  });

  test('a path in its URL goes before every other', async () => {
    const api = await serve();
    const source = await start({ master: `${api.url}/k8s/clusters/c-1/` });
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'retrying');
    expect(api.requests[0]?.path).toBe('/k8s/clusters/c-1/api/v1/services');
  });

  test('host and port alone', async () => {
    expect(await access('', 'localhost:8080')).toBe('http://localhost:8080');
    const plain = await put('plain', kubeconfigText('10.0.0.1:8080'));
    const secure = await put(
      'secure',
      kubeconfigText('10.0.0.1:6443', {}, { 'certificate-authority-data': 'eA==' }),
    );
    expect(await access(plain, '')).toBe('http://10.0.0.1:8080');
    expect(await access(secure, '')).toBe('https://10.0.0.1:6443');
    expect(await access(secure, '[fd00::1]:6443')).toBe('https://[fd00::1]:6443');
  });

  test('what cannot be one', async () => {
    await expect(access('', 'http://')).rejects.toThrow(
      '--master: "http://" is not the URL of an API server; use https://host:port',
    );
    await expect(access('', 'ftp://10.0.0.1')).rejects.toThrow(
      '--master: "ftp://10.0.0.1" is not the URL of an API server; use https://host:port',
    );
  });
});

describe('in a pod', () => {
  test('without the environment of one', async () => {
    await expect(inClusterCredentials(quiet, {}, directory)).rejects.toThrow(
      'not in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); use --kubeconfig, --master or --manifests',
    );
  });

  test('without a token', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
    await put('ca.crt', 'x');
    await expect(inClusterCredentials(quiet, env, directory)).rejects.toThrow(
      `service account of this pod: cannot use token file ${join(directory, 'token')}: ENOENT: no such file or directory, open '${join(directory, 'token')}'; does the pod set automountServiceAccountToken: false?`,
    );
  });

  test('with an IPv6 service network', async () => {
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    await put('ca.crt', 'x');
    await put('token', 'x');
    expect((await inClusterCredentials(quiet, env, directory)).server).toBe('https://[fd00::1]:443');
  });
});

describe.skipIf(!canMakeCertificates())('https (skipped where there is no openssl)', () => {
  test('in a pod: the CA and the token of the service account', async () => {
    const certificate = makeCertificate();
    const api = await serve({ certificate, token: 'pod' });
    await put('ca.crt', certificate.cert);
    await put('token', 'pod\n');
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(api.port) };
    const credentials = await inClusterCredentials(quiet, env, directory);
    const resources = apiResources('node1').filter(({ kind }) => kind === 'Service');
    const source = apiSourceOf(credentials, resources, { userAgent: 'test', log: quiet, timing: FAST });
    const sink = new RecordingSink();
    const stopping = new AbortController();
    const running = source.run(sink, stopping.signal);
    cleanups.push(async () => {
      stopping.abort();
      await running;
    });
    await sink.until(() => sink.keys('Service')?.length === 1);
    expect(source.description).toBe(api.url);
  });

  test('a CA without a user', async () => {
    const certificate = makeCertificate();
    const api = await serve({ certificate });
    const data = Buffer.from(certificate.cert).toString('base64');
    await listed(api, {}, { 'certificate-authority-data': data });
    expect(statuses(api)).toEqual([200]);
  });

  test('a certificate and CA that are replaced while it runs', async () => {
    const first = makeCertificate();
    const api = await serve({ certificate: first });
    await put('ca.crt', first.cert);
    const source = await listed(api, {}, { 'certificate-authority': 'ca.crt' });
    const second = makeCertificate();
    api.setCertificate(second);
    api.cut();
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'retrying');
    await source.sink.until(
      () => source.sink.statuses.get('Service')?.error?.includes('certificate') ?? false,
    );
    await put('ca.crt', second.cert);
    await api.until(() => api.watches() === 1);
    expect(source.sink.replacements('Service')).toBe(1);
  });

  test('a certificate of an authority we do not know', async () => {
    const api = await serve({ certificate: makeCertificate() });
    const source = await start({ master: api.url });
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'retrying');
    expect(source.sink.statuses.get('Service')?.error).toBe(
      `watch services: ${api.url}: self-signed certificate (its certificate is from an authority we were not given; check certificate-authority)`,
    );
  });

  test('insecure-skip-tls-verify, and tls-server-name', async () => {
    const certificate = makeCertificate(['DNS:api.example']);
    const api = await serve({ certificate });
    await listed(api, {}, { 'insecure-skip-tls-verify': true });
    const data = Buffer.from(certificate.cert).toString('base64');
    const named = await put(
      'named',
      kubeconfigText(api.url, {}, { 'certificate-authority-data': data, 'tls-server-name': 'api.example' }),
    );
    const source = await start({ kubeconfig: named });
    await source.sink.until(() => source.sink.keys('Service')?.length === 1);
  });

  test('a client certificate', async () => {
    const certificate = makeCertificate();
    const client = makeCertificate();
    const server = https.createServer(
      { ...certificate, ca: client.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) =>
        response.end(JSON.stringify({ authorized: (request.socket as TLSSocket).authorized })),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    await put('ca.crt', certificate.cert);
    await put('client.crt', client.cert);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const kubeconfig = await put(
      'config',
      kubeconfigText(
        url,
        { 'client-certificate': 'client.crt', 'client-key-data': Buffer.from(client.key).toString('base64') },
        { 'certificate-authority': 'ca.crt' },
      ),
    );
    const credentials = await loadCredentials(kubeconfig, '', quiet);
    const transport = createTransport({ credentials, userAgent: 'test', hooks: {}, log: quiet });
    cleanups.push(async () => transport.close());
    const response = await transport.send({
      what: 'who am I',
      path: '/',
      signal: new AbortController().signal,
      responseMs: 10_000,
    });
    expect(JSON.parse(Buffer.concat(await response.toArray()).toString())).toEqual({ authorized: true });
  });

  test('through the proxy of a kubeconfig', async () => {
    const certificate = makeCertificate();
    const api = await serve({ certificate, token: 'mine' });
    const tunnels: string[] = [];
    const proxy = http.createServer().on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const upstream = connect(api.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) {
        end.on('error', () => {});
        cleanups.push(async () => end.destroy());
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise((resolve) => proxy.close(resolve)));
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const data = Buffer.from(certificate.cert).toString('base64');
    await listed(api, { token: 'mine' }, { 'certificate-authority-data': data, 'proxy-url': proxyUrl });
    expect(tunnels).toEqual([`127.0.0.1:${api.port}`]);
  });
});
