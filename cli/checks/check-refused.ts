import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { type Advice, type Finding, type Findings, failed, seenOr, unseen } from './finding.ts';
import { type Event, newestFirst, type Pod, timeOf, type Workload } from './objects.ts';
import type { NamespaceSurvey } from './survey.ts';

const INJECTION = 'how-to/troubleshooting-injection.md';

/** Maximum workloads shown with their reason. */
const SHOWN = 5;

/** A failed pod creation, and the annotated workload behind it. */
interface Refusal {
  event: Event;
  owner: Workload | undefined;
}

/**
 * Checks whether annotated pods were rejected by the injector or another admission plugin: the newest reason per
 * workload.
 */
export function checkRefused({ name, events, workloads, pods }: NamespaceSurvey): Findings {
  if (events.kind === 'hidden') return unseen('namespace/denied', `the events in ${name}`, events);
  const isOver = overSince(seenOr(pods, []));
  const all = refusalsIn(newestFirst(events.value), seenOr(workloads, []));
  const refusals = firstOfEach(all).filter((each) => !isOver(each));
  const more = refusals.length - SHOWN;
  const rest = failed('namespace/denied', `pods of ${more} more ${more === 1 ? 'workload' : 'workloads'} are denied`, {
    todo: `kubectl get events -n ${name} --field-selector reason=FailedCreate`,
    page: `${INJECTION}#a-pod-is-denied`,
  });
  return [...refusals.slice(0, SHOWN).map(describe), ...(more > 0 ? [rest] : [])];
}

function describe({ event: { involvedObject, message = '' } }: Refusal): Finding {
  const { kind = 'workload', name = '' } = involvedObject ?? {};
  const words = message.replace(/^.*?sync agent: /s, '').replace(/^Error creating: /, '');
  return failed('namespace/denied', `pods of ${kind} ${name} are denied: ${words}`, adviceOn(words));
}

/** Returns the rejections by the injector, and all rejections of annotated workloads. */
function refusalsIn(events: readonly Event[], workloads: readonly Workload[]): Refusal[] {
  const annotated = workloads.filter(isAnnotated);
  const owners = new Map(annotated.map((each) => [`${each.kind}/${each.metadata.name}`, each]));
  return events
    .filter(({ reason }) => reason === 'FailedCreate')
    .map((event) => ({ event, owner: owners.get(ownerOf(event)) }))
    .filter(({ event, owner }) => owner || /sync agent: |inject\.sync\.io/.test(event.message ?? ''));
}

function firstOfEach(refusals: readonly Refusal[]): Refusal[] {
  const byWorkload = new Map<string, Refusal>();
  for (const each of refusals) {
    const { kind, name } = each.event.involvedObject ?? {};
    const workload = each.owner ? ownerOf(each.event) : `${kind}/${name}`;
    if (!byWorkload.has(workload)) byWorkload.set(workload, each);
  }
  return [...byWorkload.values()];
}

const isAnnotated = ({ spec }: Workload): boolean =>
  spec.template?.metadata?.annotations?.[POD_ANNOTATIONS.inject] === 'true';

/** Returns the workload whose pods were rejected. A ReplicaSet is named after its Deployment. */
function ownerOf({ involvedObject: { kind, name = '' } = {} }: Event): string {
  return kind === 'ReplicaSet' ? `Deployment/${withoutEnd(name)}` : `${kind}/${name}`;
}

const withoutEnd = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('-')));

/** Checks whether a rejection is outdated, because the workload has its pods now. Events are kept for an hour. */
function overSince(pods: readonly Pod[]): (refusal: Refusal) => boolean {
  const ofObject = newestBy(pods, withoutEnd);
  // A newer ReplicaSet may have replaced the rejected one.
  const ofDeployment = newestBy(pods, (name) => withoutEnd(withoutEnd(name)));
  return ({ event, owner }) => {
    if (owner && hasAllPods(owner)) return true;
    const at = timeOf(event);
    const made = ofObject.get(event.involvedObject?.name ?? '') ?? 0;
    return made > at || (owner !== undefined && hasNewPods(owner) && (ofDeployment.get(owner.metadata.name) ?? 0) > at);
  };
}

/** Returns the creation time of the newest pod per parent. */
function newestBy(pods: readonly Pod[], parentOf: (name: string) => string): Map<string, number> {
  const newest = new Map<string, number>();
  for (const { metadata } of pods) {
    const parent = parentOf(metadata.name);
    newest.set(parent, Math.max(newest.get(parent) ?? 0, Date.parse(metadata.creationTimestamp) || 0));
  }
  return newest;
}

/** Checks whether a Deployment has pods with its newest template. */
const hasNewPods = ({ kind, status: { updatedReplicas = 0 } = {} }: Workload): boolean =>
  kind === 'Deployment' && updatedReplicas > 0;

/** Checks whether a workload has all of its pods; a Deployment needs them with its newest template. */
function hasAllPods({ kind, metadata: { generation = 0 }, spec, status = {} }: Workload): boolean {
  const { observedGeneration = -1, replicas = 0, updatedReplicas = 0 } = status;
  if (kind === 'DaemonSet' || observedGeneration < generation) return false;
  return (kind === 'Deployment' ? updatedReplicas : replicas) >= (spec.replicas ?? 1);
}

function adviceOn(words: string): Advice {
  if (/failed calling webhook "inject\.sync\.io"/.test(words))
    return {
      todo: 'the API server cannot reach the controller or does not trust it: see Injection above. After that is fixed, the workload retries within 17 minutes, or at once with kubectl rollout restart',
      page: /x509/.test(words) ? INJECTION : 'how-to/unreachable-webhook.md',
    };
  if (/exceeded quota|failed quota/.test(words))
    return {
      todo: 'raise the ResourceQuota, or lower the requests of the pod, which include spec.agent.resources for the sidecar',
      page: 'how-to/sizing.md',
    };
  return { todo: 'correct the problem in the message', page: `${INJECTION}#a-pod-is-denied` };
}
