import { readlink } from 'node:fs/promises';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { cleanUp, type Scope } from '../support/clean-up.ts';
import { until } from '../support/until.ts';

/** A process namespace like that of a pod with `shareProcessNamespace: true`. */
export interface ProcessNamespace {
  /** Command that runs another one as in a container: in this process namespace, and in its own mount namespace. */
  container: string[];
}

const UNSHARE = ['--pid', '--fork', '--mount-proc', '--kill-child'];

/** As a container without capabilities, such as the sidecar. */
export const WITHOUT_CAPABILITIES = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'];

/** A directory, and its path in a container. */
export interface Mount {
  source: string;
  target: string;
}

/** The root of the machine, with more directories: their paths don't have to exist on the machine. */
const MOUNT = `
mount -t tmpfs tmpfs /mnt
for each in /*; do
  if [ -L "$each" ]; then cp -P "$each" /mnt
  elif [ -d "$each" ] && [ "$each" != /mnt ]; then mkdir "/mnt$each" && mount --rbind "$each" "/mnt$each"
  fi
done
while [ "$1" != -- ]; do mkdir -p "/mnt$2" && mount --bind "$1" "/mnt$2"; shift 2; done
shift
exec chroot /mnt "$@"`;

/** Returns a command that runs another one with these mounts, in the mount namespace of a container. */
export const withMounts = (mounts: Mount[]): string[] => [
  'sh',
  '-ec',
  MOUNT,
  'sh',
  ...mounts.flatMap(({ source, target }) => [source, target]),
  '--',
];

/** Returns why this machine can't make such a namespace, or undefined if it can. */
export async function namespaceObstacle(): Promise<string | undefined> {
  const works = (command: string, ...args: string[]) =>
    runCommand(command, args).then(
      () => true,
      () => false,
    );
  if (process.getuid?.() !== 0) return 'it needs root, for namespaces and for processes of several users';
  if (!(await works('unshare', ...UNSHARE, 'true'))) return 'this machine does not allow new namespaces';
  return (await works('setpriv', ...WITHOUT_CAPABILITIES.slice(1), 'true'))
    ? undefined
    : 'it needs setpriv (util-linux)';
}

/** Makes a process namespace. When the scope ends, so do all processes in it. */
export async function makeProcessNamespace(scope: Scope): Promise<ProcessNamespace> {
  // As the kubelet's pause container, which has ID 1.
  const holder = startGuarded('unshare', [...UNSHARE, 'sleep', 'infinity'], { output: 'inherit' });
  cleanUp(scope, () => holder.stop(0));
  const namespace = `/proc/${holder.pid}/ns/pid_for_children`;
  // Before that, it is ours.
  const ours = await readlink('/proc/self/ns/pid');
  await until(() => readlink(namespace), { describe: 'a process namespace', accept: (its) => its !== ours });
  return { container: ['nsenter', `--pid=${namespace}`, 'unshare', '--mount-proc', '--'] };
}
