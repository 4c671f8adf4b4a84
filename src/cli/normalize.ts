/**
 * The command line as commander reads it. Flag names are spelled as they are defined: `_` is as good as `-` in them,
 * as for kube-proxy, and `-v=4` is `-v4`; values stay as they are. `help run` is `run --help`.
 */
export function normalizeArguments(argv: readonly string[], commands: readonly string[]): string[] {
  const [first, topic = ''] = argv;
  // A command's flags are known only once it is called, so help is asked of the command itself.
  if (first === 'help' && topic !== '') return commands.includes(topic) ? [topic, '--help'] : [topic];
  const end = argv.indexOf('--');
  return argv.map((word, index) => {
    if (end >= 0 && index >= end) return word;
    const name = /^--[^=]+/.exec(word)?.[0];
    if (name !== undefined) return name.replaceAll('_', '-') + word.slice(name.length);
    // Alone, the short name would take the next word for its value.
    return word.replace(/^-(\w)=$/, '--$1=').replace(/^(-\w)=/, '$1');
  });
}
