/** The version of this program, as `kube-rulesync version` prints it; package.json says the same. */
export const VERSION = 'v0.1.0';
