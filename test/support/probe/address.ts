/** How probes write addresses. */

/** `10.244.1.2:8080`, `[fd00:244:1::2]:8080`. */
export function endpoint(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
