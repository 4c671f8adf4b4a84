/** `table ip kube-proxy { … }`: how nft lists a table, and one way to write one. */
import type { TableFamily } from './ast.ts';
import { parseChainBlock } from './chain-declaration.ts';
import { parseComment } from './elements.ts';
import { NftSyntaxError } from './error.ts';
import type { Chain, NamedSet, Table } from './model.ts';
import type { Scanner } from './scanner.ts';
import { parseSetBlock, skipSeparators } from './set-declaration.ts';

/** Whether the text is nft's own, so that what is not understood is somebody else's and no mistake of ours. */
export type Origin = 'script' | 'listing';

const FAMILIES: readonly TableFamily[] = ['ip', 'ip6', 'inet', 'arp', 'bridge', 'netdev'];

/** Takes a family if there is one; nft's own default is `ip`. */
export function parseFamily(scanner: Scanner): TableFamily {
  return FAMILIES.find((family) => scanner.accept(family)) ?? 'ip';
}

interface Contents {
  comment?: string;
  readonly sets: Map<string, NamedSet>;
  readonly chains: Map<string, Chain>;
  readonly unread: string[];
}

/** Parses what follows the word `table`: family, name, and the block if there is one. */
export function parseTable(scanner: Scanner, origin: Origin): Table {
  const family = parseFamily(scanner);
  const name = scanner.word('a table name');
  const contents: Contents = { sets: new Map(), chains: new Map(), unread: [] };
  if (scanner.is('{')) parseBlock(scanner, origin, contents);
  return { family, name, ...contents };
}

function parseBlock(scanner: Scanner, origin: Origin, contents: Contents): void {
  scanner.expect('{');
  skipSeparators(scanner);
  while (!scanner.is('}')) {
    const start = scanner.mark();
    try {
      parseObject(scanner, origin, contents);
    } catch (error) {
      if (origin === 'script' || !(error instanceof NftSyntaxError)) throw error;
      scanner.rewind(start);
      scanner.skipToEnd();
      if (scanner.kind === 'end') throw error;
      contents.unread.push(error.message);
    }
    skipSeparators(scanner);
  }
  scanner.expect('}');
}

function parseObject(scanner: Scanner, origin: Origin, contents: Contents): void {
  if (scanner.accept('chain')) {
    contents.chains.set(scanner.word('a chain name'), parseChainBlock(scanner, origin));
  } else if (scanner.accept('set')) {
    contents.sets.set(scanner.word('the name of a set'), parseSetBlock(scanner, 'set'));
  } else if (scanner.accept('map')) {
    contents.sets.set(scanner.word('the name of a map'), parseSetBlock(scanner, 'map'));
  } else if (scanner.accept('comment')) {
    contents.comment = parseComment(scanner);
  } else if (scanner.accept('flags')) {
    scanner.word('a flag');
  } else {
    throw scanner.error('a chain, a set, a map, a comment, or "}"');
  }
}
