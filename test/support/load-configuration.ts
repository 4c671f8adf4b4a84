/** Configuration files read to the end, as the command line does it. */
import { readConfiguration } from '../../src/config/configuration/read.ts';
import { describeProblem, type Options, parseOptions } from '../../src/config/options.ts';

/** What every file begins with. */
export const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

export interface Loaded {
  readonly options: Options | undefined;
  readonly notices: readonly string[];
  readonly problems: readonly string[];
}

/** Reads a file called `file`; in problems with values an option has its own name. */
export async function load(text: string): Promise<Loaded> {
  try {
    const { given, notices } = await readConfiguration(text, 'file');
    const result = parseOptions(given, (option) => option);
    return result.ok
      ? { options: result.options, notices, problems: [] }
      : { options: undefined, notices, problems: result.problems.map(describeProblem) };
  } catch (error) {
    return { options: undefined, notices: [], problems: (error as Error).message.split('\n') };
  }
}

/** The options of a file that has nothing wrong with it. */
export async function optionsOfFile(text: string): Promise<Options> {
  const loaded = await load(text);
  if (!loaded.options) throw new Error(loaded.problems.join('\n'));
  return loaded.options;
}
