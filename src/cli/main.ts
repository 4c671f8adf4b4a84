#!/usr/bin/env node
/** The command `kube-rulesync`. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Compiled code is kept in a directory of the user's own: one that others can write to could be made to hold theirs.
const { XDG_CACHE_HOME, HOME } = process.env;
const cache = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
if (cache) enableCompileCache(join(cache, 'kube-rulesync'));

const { main } = await import('./program.ts');
process.exitCode = await main(process.argv.slice(2));
