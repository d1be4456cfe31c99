import type { V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import type { AsJson, DeepPartial } from '../../shared/api/object-meta.ts';
import { oneLine } from '../../shared/domain/text/text.ts';

/** A container, as described by the kubelet. */
type ContainerStatus = DeepPartial<AsJson<V1ContainerStatus>>;

/** The part of a pod's status that explains why it doesn't start. */
export type StartingStatus = DeepPartial<
  AsJson<Pick<V1PodStatus, 'conditions' | 'initContainerStatuses' | 'containerStatuses'>>
>;

/** Normal states of every starting pod. */
const STARTING_REASONS = new Set(['ContainerCreating', 'PodInitializing']);
/** The kubelet names what is missing, such as a ConfigMap; other messages can contain text from a registry. */
const NAMES_MISSING_OBJECT = new Set(['CreateContainerConfigError']);
const ABOUT_THE_IMAGE = /Image|Registry/;
/** Maximum length (characters), because thousands of pods can wait at once. */
const MAX_LENGTH = 200;

/**
 * Returns why a pod doesn't start, in a short line without control characters; undefined if it does, or if nothing is
 * known yet. The status comes from the cluster, but names of images and containers come from the tenant.
 */
export function waitingOf(status: StartingStatus = {}): string | undefined {
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return oneLine(['not scheduled', scheduled.reason, scheduled.message].filter(Boolean).join(': '), MAX_LENGTH);
  for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
    const text = waitingText(container);
    if (text !== undefined) return oneLine(text, MAX_LENGTH);
  }
  return undefined;
}

const hasRun = ({ state, lastState }: ContainerStatus): boolean =>
  Boolean(state?.running ?? state?.terminated ?? lastState?.terminated);

const agentOf = ({ initContainerStatuses = [] }: StartingStatus): ContainerStatus[] =>
  initContainerStatuses.filter(({ name }) => name === AGENT_CONTAINER);

/** Whether the agent of the pod is running, or has run. */
export const hasAgentRun = (status: StartingStatus = {}): boolean => agentOf(status).some(hasRun);

/** Whether a container hasn't run yet (no node, image, or Secret), and none of the pod has crashed. */
export function isUnstarted(status: StartingStatus = {}): boolean {
  const { containerStatuses = [] } = status;
  return crashedAt(status) === undefined && (containerStatuses.length === 0 || !containerStatuses.every(hasRun));
}

/** When the last of the pod's containers started (ms since the epoch). */
export function runsSince({ containerStatuses = [] }: StartingStatus = {}): number | undefined {
  const times = containerStatuses.flatMap(({ state, lastState }) => {
    const began = state?.running?.startedAt ?? state?.terminated?.startedAt ?? lastState?.terminated?.startedAt;
    return began ? Date.parse(began) : [];
  });
  return times.length > 0 ? Math.max(...times) : undefined;
}

/** When a container of the pod, or its agent, last exited with an error (ms since the epoch). */
export const crashedAt = (status?: StartingStatus): number | undefined =>
  lastExit(status, (exitCode) => exitCode !== 0);

/** When one last exited, even without an error (ms since the epoch). */
export const restartedAt = (status?: StartingStatus): number | undefined => lastExit(status, () => true);

function lastExit(status: StartingStatus = {}, counts: (exitCode: number | undefined) => boolean): number | undefined {
  const times = [...agentOf(status), ...(status.containerStatuses ?? [])].flatMap(({ state, lastState }) =>
    [state?.terminated, lastState?.terminated].flatMap((ended) =>
      ended?.finishedAt && counts(ended.exitCode) ? Date.parse(ended.finishedAt) : [],
    ),
  );
  return times.length > 0 ? Math.max(...times) : undefined;
}

function waitingText({ name, image, state, lastState }: ContainerStatus): string | undefined {
  const { reason, message } = state?.waiting ?? {};
  if (!reason || STARTING_REASONS.has(reason)) return undefined;
  const text = `container ${name} waits: ${reason}`;
  if (NAMES_MISSING_OBJECT.has(reason) && message) return `${text}: ${message}`;
  if (ABOUT_THE_IMAGE.test(reason) && image) return `${text} (${image})`;
  const { exitCode, reason: end } = lastState?.terminated ?? {};
  if (exitCode === undefined) return text;
  return `${text} (exit code ${exitCode}${end ? `, ${end}` : ''})`;
}
