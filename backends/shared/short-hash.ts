/** The hash in kube-proxy's names of chains, in iptables mode as in nftables mode. */
import { createHash } from 'node:crypto';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The first `length` characters of the base32 (RFC 4648) of the SHA-256 of `text`. */
export function shortHash(text: string, length: number): string {
  const digest = createHash('sha256').update(text).digest();
  let out = '';
  let bits = 0;
  let value = 0;
  for (const byte of digest) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5 && out.length < length) {
      bits -= 5;
      out += BASE32[(value >>> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return out;
}
