import { ToolError } from '../../src/node/runner.ts';

/** What is missing and how to get it, in one sentence, from the error of a trial. */
export function missingFrom(error: unknown): string {
  if (!(error instanceof ToolError)) return String(error);
  switch (error.reason) {
    case 'missing':
      return 'The program nft is not installed; install the package nftables (1.0.1 or newer).';
    case 'unstartable':
      return `The program nft is here and cannot be run; install the package nftables again: ${error.message}`;
    case 'signal':
      return 'nft crashed in a trial run: a newer nft may have written tables that this one cannot read; install the same version as on the host.';
    case 'timeout':
      return `nft does not answer: ${error.message}`;
    case 'exit':
    case 'cancelled':
      if (/Operation not permitted/.test(error.stderr)) {
        return 'nft may not change rules here; run as root, or with CAP_NET_ADMIN.';
      }
      return `nft or the kernel does not take the rules this mode needs (nft 1.0.1 and kernel 5.13 or newer are): ${error.message}`;
  }
}
