import { expect, it } from 'vitest';
import { shortHash } from './short-hash.ts';

it('hashes as SHA-256 in base32', () => {
  // From kube-proxy's iptables chain names, which are made of the same hash: KUBE-SVC-XPGD46QRK7WJZT7O.
  expect(shortHash('ns1/svc1:p80tcp', 16)).toBe('XPGD46QRK7WJZT7O');
});
