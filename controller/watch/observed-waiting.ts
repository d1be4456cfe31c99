import type { V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import type { AsJson, DeepPartial } from '../../shared/api/object-meta.ts';
import { clip } from './observed-text.ts';

/** A container as the kubelet describes it. */
type ContainerStatus = DeepPartial<AsJson<V1ContainerStatus>>;

/** What of a pod's status says why it does not start. */
export type StartingStatus = DeepPartial<
  AsJson<Pick<V1PodStatus, 'conditions' | 'initContainerStatuses' | 'containerStatuses'>>
>;

/** What every pod waits for on its way: no news. */
const ON_ITS_WAY = new Set(['ContainerCreating', 'PodInitializing']);
/** The kubelet says itself what is missing, such as a ConfigMap; other messages may hold words of a registry. */
const SAYS_WHAT_IS_MISSING = new Set(['CreateContainerConfigError']);
const ABOUT_THE_IMAGE = /Image|Registry/;
/** Characters that are kept: thousands of pods may wait at once. */
const MAX_LENGTH = 200;

/**
 * Why a pod does not start, in a short line of text without control characters; undefined where it does, or where nothing
 * is known yet. Its status is what the cluster says of it, but names of images and containers are the tenant's.
 */
export function waitingOf(status: StartingStatus = {}): string | undefined {
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return line(['not scheduled', scheduled.reason, scheduled.message].filter(Boolean).join(': '));
  for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
    const text = waitingText(container);
    if (text !== undefined) return line(text);
  }
  return undefined;
}

const hasRun = ({ state, lastState }: ContainerStatus): boolean =>
  Boolean(state?.running ?? state?.terminated ?? lastState?.terminated);

const agentOf = ({ initContainerStatuses = [] }: StartingStatus): ContainerStatus[] =>
  initContainerStatuses.filter(({ name }) => name === AGENT_CONTAINER);

/** Whether the agent of the pod runs, or has run. */
export const hasAgentRun = (status: StartingStatus = {}): boolean => agentOf(status).some(hasRun);

/** Whether one of the pod's containers has not run yet, for want of a node, an image, a Secret; a crash is no such want. */
export function isUnstarted(status: StartingStatus = {}): boolean {
  const { containerStatuses = [] } = status;
  return crashedAt(status) === undefined && (containerStatuses.length === 0 || !containerStatuses.every(hasRun));
}

/** When the last of the pod's containers began to run, in milliseconds since the epoch. */
export function runsSince({ containerStatuses = [] }: StartingStatus = {}): number | undefined {
  const times = containerStatuses.flatMap(({ state, lastState }) => {
    const began = state?.running?.startedAt ?? state?.terminated?.startedAt ?? lastState?.terminated?.startedAt;
    return began ? Date.parse(began) : [];
  });
  return times.length > 0 ? Math.max(...times) : undefined;
}

/** When a container of the pod, or its agent, ended with an error the last time, in milliseconds since the epoch. */
export function crashedAt(status: StartingStatus = {}): number | undefined {
  const times = [...agentOf(status), ...(status.containerStatuses ?? [])].flatMap(({ state, lastState }) =>
    [state?.terminated, lastState?.terminated].flatMap((ended) =>
      ended?.finishedAt && ended.exitCode !== 0 ? Date.parse(ended.finishedAt) : [],
    ),
  );
  return times.length > 0 ? Math.max(...times) : undefined;
}

function waitingText({ name, image, state, lastState }: ContainerStatus): string | undefined {
  const { reason, message } = state?.waiting ?? {};
  if (!reason || ON_ITS_WAY.has(reason)) return undefined;
  const text = `container ${name} waits: ${reason}`;
  if (SAYS_WHAT_IS_MISSING.has(reason) && message) return `${text}: ${message}`;
  if (ABOUT_THE_IMAGE.test(reason) && image) return `${text} (${image})`;
  const { exitCode, reason: end } = lastState?.terminated ?? {};
  if (exitCode === undefined) return text;
  return `${text} (exit code ${exitCode}${end ? `, ${end}` : ''})`;
}

/** One line that a terminal shows as it is. */
function line(text: string): string {
  const printable = text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return printable.length > MAX_LENGTH ? `${clip(printable, MAX_LENGTH - 1)}…` : clip(printable, MAX_LENGTH);
}
