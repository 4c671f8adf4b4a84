/** Certificates for tests, made by openssl. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  /** PEM; it is its own authority. */
  readonly cert: string;
  readonly key: string;
}

/** Whether openssl is there. */
export function canMakeCertificates(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A self-signed certificate, good for a day, for the given names and addresses (`DNS:api.test`, `IP:127.0.0.1`). */
export function makeCertificate(
  subjects: readonly string[] = ['IP:127.0.0.1', 'DNS:localhost'],
): Certificate {
  const directory = mkdtempSync(join(tmpdir(), 'kube-rulesync-cert-'));
  const keyFile = join(directory, 'tls.key');
  const certFile = join(directory, 'tls.crt');
  try {
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '1',
        ],
        ...['-subj', '/CN=kube-rulesync test', '-addext', `subjectAltName=${subjects.join(',')}`],
        ...['-keyout', keyFile, '-out', certFile],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
