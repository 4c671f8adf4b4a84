/** How one thing of kube-proxy's is here: the last column of every table that holds this program beside it. */

export type Parity =
  /** As in kube-proxy. */
  | 'same'
  /** kube-proxy does not have it. */
  | 'ours'
  /** It is there, on purpose not quite as in kube-proxy: how, and why. */
  | { readonly different: string }
  /** It is not there: why. */
  | { readonly notHere: string };

/** `same`, `different: …`, `not here: …`, `ours`. */
export function parityText(parity: Parity): string {
  if (typeof parity === 'string') return parity;
  return 'different' in parity ? `different: ${parity.different}` : `not here: ${parity.notHere}`;
}
