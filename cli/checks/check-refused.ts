import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { type Advice, type Finding, failed, seenOr, unseen } from './finding.ts';
import type { Event, Pod, Workload } from './objects.ts';
import type { NamespaceSurvey } from './survey.ts';

const INJECTION = 'how-to/troubleshooting-injection.md';

/** Checks whether pods that ask for the sidecar were refused, by the injector or by anything else in the cluster. */
export function checkRefused({ name, events, workloads, pods }: NamespaceSurvey): Finding[] {
  if (events.kind === 'hidden') return unseen('namespace/denied', `the events in ${name}`, events);
  const asking = seenOr(workloads, []).filter(asksForSidecar);
  const refused = events.value.filter(({ reason }) => reason === 'FailedCreate').filter(isOurs(asking));
  const last = refused.filter((event) => !isOver(event, ownerIn(asking, event), seenOr(pods, []))).at(-1);
  if (!last) return [];
  const { kind = 'workload', name: of = '' } = last.involvedObject ?? {};
  const words = (last.message ?? '').replace(/^.*?sync agent: /s, '').replace(/^Error creating: /, '');
  return [failed('namespace/denied', `pods of ${kind} ${of} are denied: ${words}`, adviceOn(words))];
}

const asksForSidecar = ({ spec }: Workload): boolean =>
  spec.template?.metadata?.annotations?.[POD_ANNOTATIONS.inject] === 'true';

/** What the injector says, and what anybody says of pods that ask for the sidecar. */
const isOurs =
  (asking: readonly Workload[]) =>
  (event: Event): boolean =>
    /sync agent: |inject\.sync\.io/.test(event.message ?? '') || ownerIn(asking, event) !== undefined;

/** The workload whose pods could not be made; a ReplicaSet is named after its Deployment. */
const ownerIn = (
  asking: readonly Workload[],
  { involvedObject: { kind, name = '' } = {} }: Event,
): Workload | undefined =>
  asking.find((each) =>
    kind === 'ReplicaSet'
      ? each.kind === 'Deployment' && name.replace(/-[^-]*$/, '') === each.metadata.name
      : kind === each.kind && name === each.metadata.name,
  );

/** Whether the workload has all of its pods, or pods came after it: events are kept for an hour. */
function isOver(event: Event, owner: Workload | undefined, pods: readonly Pod[]): boolean {
  if (owner && hasAllPods(owner)) return true;
  const at = Date.parse(event.lastTimestamp ?? event.eventTime ?? '');
  const later = pods.filter(({ metadata }) => Date.parse(metadata.creationTimestamp) > at);
  return later.some(
    ({ metadata: { name } }) =>
      name.startsWith(`${event.involvedObject?.name}-`) || (owner && isOfNewTemplate(name, owner)),
  );
}

/** Whether all pods that a workload wants exist, those of a Deployment by its newest template. */
function hasAllPods({ kind, metadata: { generation = 0 }, spec, status = {} }: Workload): boolean {
  const { observedGeneration = -1, replicas = 0, updatedReplicas = 0 } = status;
  if (kind === 'DaemonSet' || observedGeneration < generation) return false;
  return (kind === 'Deployment' ? updatedReplicas : replicas) >= (spec.replicas ?? 1);
}

/** Whether a pod may be one of a Deployment's newest template: another ReplicaSet took the place of the denied one. */
const isOfNewTemplate = (pod: string, { kind, metadata, status: { updatedReplicas = 0 } = {} }: Workload): boolean =>
  kind === 'Deployment' && updatedReplicas > 0 && pod.replace(/-[^-]*-[^-]*$/, '') === metadata.name;

function adviceOn(words: string): Advice {
  if (/failed calling webhook "inject\.sync\.io"/.test(words))
    return {
      todo: 'the API server does not reach the controller or does not trust it: see Injection above',
      page: /x509/.test(words) ? INJECTION : 'how-to/unreachable-webhook.md',
    };
  if (/exceeded quota|failed quota/.test(words))
    return {
      todo: 'raise the ResourceQuota, or lower what the pod asks for: the sidecar counts, by spec.agent.resources',
      page: 'how-to/sizing.md',
    };
  return { todo: 'do what the message says', page: `${INJECTION}#a-pod-is-denied` };
}
