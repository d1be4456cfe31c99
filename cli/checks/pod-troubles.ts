import { type ContainerStatus, containerStatusesOf, type Pod } from './objects.ts';

/** A reason why a container or a pod doesn't run. */
export interface Trouble {
  /** Reason in the status, such as `ImagePullBackOff`. */
  reason: string;
  says: string;
  todo: string;
}

/** Reasons of a container that is starting normally. */
const STARTING = ['ContainerCreating', 'PodInitializing'];

/** Finds the problems in a pod's status. */
export function troublesOf(pod: Pod): Trouble[] {
  const unscheduled = pod.status?.conditions?.find(
    ({ type, status: value }) => type === 'PodScheduled' && value === 'False',
  );
  return [
    ...(unscheduled
      ? [
          {
            reason: 'Unschedulable',
            says: `no node accepts it: ${unscheduled.message ?? unscheduled.reason ?? ''}`,
            todo: 'free resources, or lower the requests of the pod',
          },
        ]
      : []),
    ...containerStatusesOf(pod).flatMap(troubleOf),
  ];
}

function troubleOf({ name = '', state, lastState, restartCount = 0 }: ContainerStatus): Trouble[] {
  const { reason = '', message } = state?.waiting ?? {};
  const { reason: ending, exitCode } = lastState?.terminated ?? {};
  if (ending === 'OOMKilled')
    return [
      {
        reason: 'OOMKilled',
        says: `the container ${name} exceeded its memory limit and was killed (${restartCount} restarts)`,
        todo: 'raise the memory limit of the container',
      },
    ];
  const ended = state?.terminated;
  if (ended && ended.exitCode !== 0)
    return [
      {
        reason: ended.reason ?? 'Error',
        says: `the container ${name} exited with code ${ended.exitCode}${ended.message ? `: ${ended.message}` : ''}`,
        todo: `read the log of the container: kubectl logs POD -c ${name}`,
      },
    ];
  if (reason === '' || STARTING.includes(reason)) return [];
  const end = exitCode === undefined ? '' : ` (exit code ${exitCode})`;
  return [
    {
      reason,
      says: `the container ${name} is waiting: ${reason}${end}${message ? `: ${message}` : ''}`,
      todo: todoFor(reason, name),
    },
  ];
}

function todoFor(reason: string, container: string): string {
  if (/Image|Registry/.test(reason)) return 'check the image, its tag, and the pull secrets';
  if (reason === 'CrashLoopBackOff')
    return `read the log of the container: kubectl logs POD -c ${container} --previous`;
  return 'create the object in the message, or correct the pod';
}
