/**
 * Durations as Go writes them, because that is what kube-proxy's flags and configuration take.
 * https://pkg.go.dev/time#ParseDuration, https://pkg.go.dev/time#Duration.String
 */

const MILLISECONDS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5, micro sign
  μs: 1e-3, // U+03BC, Greek mu
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const TERM = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * Milliseconds, possibly with a fraction, of a Go duration such as `30s`, `1m30s`, `1.5h` or `-100ms`.
 * `0` needs no unit. `undefined` for anything else.
 */
export function parseDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '0') return 0;
  if (unsigned === '') return undefined;
  let total = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < unsigned.length) {
    const term = TERM.exec(unsigned);
    const scale = MILLISECONDS[term?.[2] ?? ''];
    if (term === null || scale === undefined) return undefined;
    total += Number(term[1]) * scale;
  }
  return total === 0 ? 0 : sign * total;
}

/** `24h0m0s`, `1m30s`, `1.5s`, `250µs`: milliseconds as Go prints them, to the nanosecond. */
export function formatDuration(milliseconds: number): string {
  const sign = milliseconds < 0 ? '-' : '';
  const size = Math.abs(milliseconds);
  const nanoseconds = Math.round(size * 1e6);
  if (nanoseconds === 0) return '0s';
  if (nanoseconds < 1e3) return `${sign}${nanoseconds}ns`;
  if (nanoseconds < 1e6) return `${sign}${nanoseconds / 1e3}µs`;
  if (nanoseconds < 1e9) return `${sign}${nanoseconds / 1e6}ms`;
  const hours = Math.floor(size / 3_600_000);
  const minutes = Math.floor((size % 3_600_000) / 60_000);
  const seconds = Math.round((size % 60_000) * 1e6) / 1e9;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}
