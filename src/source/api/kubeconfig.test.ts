import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readKubeconfig } from './kubeconfig.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function read(text: string) {
  const path = join(directory, 'config');
  await writeFile(path, text);
  return readKubeconfig(path);
}

test('no YAML: names the place, and quotes nothing of it', async () => {
  await expect(read('users:\n- user: {token: "s3cret" oops}\n')).rejects.toThrow(
    /^kubeconfig \S+: line 2, column 26: is no YAML \([a-z ]+\)$/,
  );
});

/** As kubeadm writes it for kube-proxy. */
const KUBEADM = `
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: https://10.0.0.1:6443
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
`;

test("kubeadm's kubeconfig for kube-proxy", async () => {
  expect(await read(KUBEADM)).toEqual({
    path: join(directory, 'config'),
    cluster: {
      'certificate-authority': '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
      server: 'https://10.0.0.1:6443',
    },
    user: { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' },
    userName: 'default',
  });
});

test('a cluster without anything in it is there all the same: what it lacks is the server', async () => {
  const { cluster } = await read(
    'current-context: a\ncontexts: [{name: a, context: {cluster: x}}]\nclusters: [{name: x, cluster: }]',
  );
  expect(cluster).toEqual({});
});

test('the current context, and paths from the directory of the file', async () => {
  const { cluster, user, userName } = await read(`
current-context: b
contexts: [{name: a, context: {cluster: x, user: u}}, {name: b, context: {cluster: y, user: v}}]
clusters: [{name: x, cluster: {server: 'https://x'}}, {name: y, cluster: {server: 'https://y', certificate-authority: pki/ca.crt}}]
users: [{name: u}, {name: v, user: {client-certificate: pki/v.crt, client-key: /pki/v.key, tokenFile: ../token}}]
`);
  expect(cluster).toEqual({ server: 'https://y', 'certificate-authority': join(directory, 'pki/ca.crt') });
  expect(user).toEqual({
    'client-certificate': join(directory, 'pki/v.crt'),
    'client-key': '/pki/v.key',
    tokenFile: join(directory, '../token'),
  });
  expect(userName).toBe('v');
});

test('a context without a user, and nulls where lists or text could be', async () => {
  const { user, userName } = await read(`
current-context: a
contexts: [{name: a, context: {cluster: x, user: ''}}]
clusters: [{name: x, cluster: {server: 'https://x', certificate-authority-data: null}}]
users: null
`);
  expect([user, userName]).toEqual([{}, '']);
});

describe('what is wrong is said', () => {
  const CLUSTERS = "clusters: [{name: x, cluster: {server: 'https://x'}}]";
  test.each([
    ['current-context: a', 'current-context a is not among its contexts'],
    ['contexts: [{name: a}, {name: b}]', 'current-context is not set; set it to one of its contexts: a, b'],
    [
      'current-context: a\ncontexts: [{name: a, context: {cluster: x}}]',
      'context a: cluster x is not among its clusters',
    ],
    [
      `current-context: a\ncontexts: [{name: a, context: {cluster: x, user: u}}]\n${CLUSTERS}`,
      'context a: user u is not among its users',
    ],
    ['users: [{name: 3}]', 'users.0.name: Invalid input: expected string, received number'],
    ['users: [', 'line 1, column 9: is no YAML (bad indent)'],
    ['', 'file: Invalid input'],
  ])('%j', async (text, message) => {
    await expect(read(text)).rejects.toThrow(`kubeconfig ${join(directory, 'config')}: `);
    await expect(read(text)).rejects.toThrow(message);
  });

  test('a file that is not there', async () => {
    await expect(readKubeconfig('/nowhere/config')).rejects.toThrow(
      "kubeconfig /nowhere/config: ENOENT: no such file or directory, open '/nowhere/config'",
    );
  });
});
