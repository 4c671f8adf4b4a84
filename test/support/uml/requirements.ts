/** What user-mode Linux and the IPVS tests in it need of the machine, and the Debian packages that bring it. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where tools may be that are not on everyone's PATH. */
export const TOOL_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'] as const;

/** A kernel that runs as a process, and the directory of its modules. */
export interface UmlKernel {
  readonly kernel: string;
  readonly modules: string;
}

/**
 * Debian's, or the one that `scripts/uml-kernel.sh` has put into the directory UML_KERNEL. Undefined when it is not
 * installed.
 */
export function umlKernel(): UmlKernel | undefined {
  const built = process.env.UML_KERNEL;
  if (built) return { kernel: join(built, 'linux'), modules: join(built, 'lib/modules') };
  const kernel = findTool('linux.uml');
  return kernel === undefined ? undefined : { kernel, modules: '/usr/lib/uml/modules' };
}

const PACKAGES: Readonly<Record<string, string>> = {
  'linux.uml': 'user-mode-linux',
  modprobe: 'kmod',
  'xtables-legacy-multi': 'iptables',
  ip: 'iproute2',
  ipset: 'ipset',
  ipvsadm: 'ipvsadm',
  sysctl: 'procps',
};

/** The path of a tool, or undefined when it is not installed. */
export function findTool(name: string): string | undefined {
  const directories = [...TOOL_DIRECTORIES, ...(process.env.PATH ?? '').split(':').filter(Boolean)];
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

/** The packages whose tools are not installed. */
export function missingPackages(): string[] {
  const missing = Object.entries(PACKAGES).filter(([tool]) => findTool(tool) === undefined);
  return [...new Set(missing.map(([, name]) => name))];
}

/** Why user-mode Linux cannot run the tests here; undefined when it can. */
export function umlUnsupported(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `Debian has user-mode Linux for x86 Linux only, this is ${process.arch} ${process.platform}`;
  }
  if (process.getuid?.() !== 0) return 'needs root: in it the machine’s own files are the root file system';
  const missing = missingPackages();
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`;
}

/**
 * Installs what is missing with apt-get, as root. Does nothing when all is there or where that cannot be done;
 * `umlUnsupported` then says what is still missing.
 */
export function installRequirements(): void {
  const missing = missingPackages();
  if (missing.length === 0 || process.getuid?.() !== 0 || findTool('apt-get') === undefined) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const aptGet = (...args: string[]): void => {
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 10 * 60_000 });
  };
  aptGet('update', '-qq');
  aptGet('install', '-y', '-qq', '--no-install-recommends', ...missing);
}
