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
  const last = refused.filter((event) => !isOver(event, seenOr(pods, []))).at(-1);
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
  ({ message = '', involvedObject: { kind, name = '' } = {} }: Event): boolean =>
    /sync agent: |inject\.sync\.io/.test(message) ||
    asking.some((each) =>
      kind === 'ReplicaSet'
        ? each.kind === 'Deployment' && name.replace(/-[^-]*$/, '') === each.metadata.name
        : kind === each.kind && name === each.metadata.name,
    );

/** Whether pods came after it: events are kept for an hour. */
function isOver({ involvedObject, lastTimestamp, eventTime }: Event, pods: readonly Pod[]): boolean {
  const at = Date.parse(lastTimestamp ?? eventTime ?? '');
  return pods.some(
    ({ metadata }) =>
      metadata.name.startsWith(`${involvedObject?.name}-`) && Date.parse(metadata.creationTimestamp) > at,
  );
}

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
