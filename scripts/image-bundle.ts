/**
 * A container of a pod as an OCI runtime would be told to run it (config.json of the runtime specification), for
 * `scripts/image-check.ts`: what kubelet and containerd make of the manifest, as far as rights, mounts and environment
 * go. Without seccomp, and in the network of whoever calls the runtime, as `hostNetwork` has it.
 */
import { readFileSync } from 'node:fs';
import type { V1Container, V1PodSpec } from '@kubernetes/client-node';

export interface BundleOptions {
  /** The image's root directory; it is not written to. */
  readonly root: string;
  /** What stands for each volume of the pod on this machine. */
  readonly volumes: Readonly<Record<string, string>>;
  /** The service account's files. */
  readonly serviceAccount: string;
  readonly env: Readonly<Record<string, string>>;
  /** In place of the container's own command. */
  readonly command?: readonly string[];
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** containerd's defaults for a container that is not privileged. */
const MASKED = ['/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware'];
const READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** By their numbers, from 0 to the last one, of Linux 5.9. */
const CAPABILITIES =
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE'.split(
    ' ',
  );

/** The content of config.json. Throws for a volume that nothing stands for, or rights that are not spelled out. */
export function bundleConfig(pod: V1PodSpec, container: V1Container, options: BundleOptions): unknown {
  const privileged = container.securityContext?.privileged === true;
  const capabilities = capabilitiesOf(container).map((name) => `CAP_${name}`);
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: 0, gid: 0 },
      args: (options.command ?? container.command ?? []).map((word) => expanded(word, options.env)),
      env: [PATH, ...Object.entries(options.env).map(([name, value]) => `${name}=${value}`)],
      cwd: '/',
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      noNewPrivileges: container.securityContext?.allowPrivilegeEscalation === false,
    },
    root: { path: options.root, readonly: container.securityContext?.readOnlyRootFilesystem === true },
    mounts: [...systemMounts(privileged), ...volumeMounts(pod, container, options)],
    linux: {
      namespaces: ['pid', 'ipc', 'mount'].map((type) => ({ type })),
      resources: { devices: [{ allow: privileged, access: 'rwm' }] },
      maskedPaths: privileged ? [] : MASKED,
      readonlyPaths: privileged ? [] : READ_ONLY,
    },
  };
}

function capabilitiesOf({ name, securityContext }: V1Container): readonly string[] {
  if (securityContext?.privileged) return ownCapabilities();
  const { drop = [], add = [] } = securityContext?.capabilities ?? {};
  if (!drop.includes('ALL')) throw new Error(`container ${name}: must drop ALL capabilities, then add some`);
  return add;
}

/** Those that this process may pass on: a machine that has not all of them itself cannot give them. */
function ownCapabilities(): readonly string[] {
  const mask = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return CAPABILITIES.filter((_, bit) => (BigInt(`0x${mask}`) >> BigInt(bit)) & 1n);
}

/** kubelet puts variables of the container in place of `$(NAME)`. */
function expanded(word: string, env: Readonly<Record<string, string>>): string {
  return word.replace(/\$\((\w+)\)/g, (text, name: string) => env[name] ?? text);
}

function systemMounts(privileged: boolean) {
  const safe = ['nosuid', 'noexec', 'nodev'];
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: safe },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=65536k'] },
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...safe, privileged ? 'rw' : 'ro'] },
  ];
}

function volumeMounts(pod: V1PodSpec, { volumeMounts: mounts = [] }: V1Container, options: BundleOptions) {
  const bind = (destination: string, source: string, readOnly: boolean) => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', readOnly ? 'ro' : 'rw'],
  });
  return [
    ...mounts.map(({ name, mountPath, readOnly }) => {
      const source = options.volumes[name];
      if (source === undefined || !pod.volumes?.some((volume) => volume.name === name)) {
        throw new Error(`volume ${name}: there is none, or nothing stands for it here`);
      }
      return bind(mountPath, source, readOnly === true);
    }),
    bind('/var/run/secrets/kubernetes.io/serviceaccount', options.serviceAccount, true),
  ];
}
