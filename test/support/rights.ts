/** In front of a command, it has CAP_NET_ADMIN and no other capability, and cannot gain any (setpriv(1)). */
export const NET_ADMIN_ALONE = [
  'setpriv',
  '--bounding-set=-all,+net_admin',
  '--inh-caps=-all,+net_admin',
  '--ambient-caps=-all,+net_admin',
  '--no-new-privs',
] as const;

/** As in a container that is not privileged: with few rights, and a /proc/sys that nobody can write to. */
export const FEW_RIGHTS = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"',
  'sh',
  ...NET_ADMIN_ALONE,
] as const;
