/** Puts settings into the machine: only what differs is written, and what cannot be is logged. */
import { readFile, writeFile } from 'node:fs/promises';
import type { SystemSetting } from '../config/system-settings.ts';
import type { Logger } from '../log/logger.ts';

export interface SystemFiles {
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
}

const FILES: SystemFiles = {
  read: (path) => readFile(path, 'utf8'),
  write: (path, text) => writeFile(path, text),
};

export interface ApplyOptions {
  readonly log: Logger;
  /** Say what would be written, and write nothing. */
  readonly dryRun: boolean;
  readonly files?: SystemFiles;
}

/**
 * Never rejects: a machine that does not let itself be tuned (a container, a kernel without connection tracking)
 * can be programmed all the same. Resolves with the settings that are not as they should be.
 */
export async function applySettings(
  settings: readonly SystemSetting[],
  { log, dryRun, files = FILES }: ApplyOptions,
): Promise<readonly SystemSetting[]> {
  const failed: SystemSetting[] = [];
  for (const setting of settings) {
    const { path, value, onlyRaise, largerServes } = setting;
    let before: number | undefined;
    try {
      before = Number(await files.read(path));
      if (before === value || (onlyRaise && before > value)) continue;
      if (!dryRun) await files.write(path, `${value}`);
      log.info({ path, before, value }, dryRun ? 'Would change a setting' : 'Changed a setting');
    } catch (error) {
      if (largerServes && before !== undefined && before > value) {
        log.debug(
          { path, before, value, err: error },
          'A setting cannot be changed, and is larger than needed',
        );
        continue;
      }
      failed.push(setting);
      log.warn(
        { path, before, value, err: error },
        'A setting could not be changed; traffic does not depend on it',
      );
    }
  }
  return failed;
}
