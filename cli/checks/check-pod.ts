import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_CONTAINER, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { isWithin, relativePath } from '../../shared/domain/files/relative-path.ts';
import { mountedParts } from '../../shared/domain/kubernetes/mounted-parts.ts';
import { checkMesh } from './check-mesh.ts';
import { checkReport } from './check-report.ts';
import { type Finding, type Findings, failed, listed, ok, seenOr, warning } from './finding.ts';
import { hasSidecar, resourceOf, VOLUME_REASONS } from './gateway-pods.ts';
import { componentsOf, injectorsOf } from './installation.ts';
import {
  type Container,
  containerStatusesOf,
  DATA_PATH,
  type Event,
  fits,
  newestFirst,
  type Pod,
  settingOf,
  sidecarOf,
  variableOf,
} from './objects.ts';
import { troublesOf } from './pod-troubles.ts';
import type { NamespaceSurvey, Survey } from './survey.ts';

const INJECTION = 'how-to/troubleshooting-injection.md';
const ANNOTATIONS = 'reference/annotations.md';

interface About {
  survey: NamespaceSurvey;
  /** The GatewaySync of the pod. */
  gatewaySync: GatewaySync | undefined;
  whole: Survey;
}

/** Checks one pod: its annotations, its sidecar, its containers, and the report of its agent. */
export function checkPod(pod: Pod, survey: NamespaceSurvey, whole: Survey): Findings {
  const gatewaySync = seenOr(survey.gatewaySyncs, []).find(({ metadata }) => metadata.name === resourceOf(pod, survey));
  return [
    checkAnnotations(pod, { survey, gatewaySync }),
    checkSidecar(pod, { survey, gatewaySync, whole }),
    checkMounts(pod, gatewaySync),
    checkProcesses(pod, gatewaySync),
    checkMesh(pod),
    checkContainers(pod, seenOr(survey.events, [])),
    hasSidecar(pod) ? checkReport(pod, { survey, gatewaySync, now: whole.now }) : [],
  ];
}

function checkAnnotations(
  { metadata: { annotations = {} } }: Pod,
  { survey, gatewaySync }: Omit<About, 'whole'>,
): Findings {
  const inject = annotations[POD_ANNOTATIONS.inject];
  const named = annotations[POD_ANNOTATIONS.crName];
  const fail = (check: string, says: string, todo: string) => failed(check, says, { todo, page: ANNOTATIONS });
  if (inject !== 'true' && inject !== undefined)
    return fail(
      'pod/inject',
      `the annotation ${POD_ANNOTATIONS.inject} is ignored, because its value is "${inject}"`,
      'set it to "true"',
    );
  if (inject === undefined && named !== undefined)
    return fail(
      'pod/inject',
      `it has the annotation ${POD_ANNOTATIONS.crName}, but not ${POD_ANNOTATIONS.inject}`,
      `add ${POD_ANNOTATIONS.inject}: "true" to the pod template`,
    );
  if (survey.gatewaySyncs.kind === 'hidden') return [];
  const names = survey.gatewaySyncs.value.map(({ metadata }) => metadata.name);
  if (named === undefined && names.length > 1)
    return fail(
      'pod/cr-name',
      `the namespace has several GatewaySyncs, and the pod does not specify one`,
      `specify one of ${listed(names)} in the annotation ${POD_ANNOTATIONS.crName}`,
    );
  if (named !== undefined && !gatewaySync)
    return fail(
      'pod/cr-name',
      `GatewaySync ${named} not found`,
      names.length > 0 ? `specify one of ${listed(names)}, or create it` : 'create it',
    );
  const profile = annotations[POD_ANNOTATIONS.profile] ?? 'default';
  const profiles = Object.keys(gatewaySync?.spec.sync.profiles ?? {});
  if (gatewaySync && !profiles.includes(profile))
    return fail(
      'pod/profile',
      `GatewaySync ${gatewaySync.metadata.name} has no profile ${profile}`,
      `specify one of ${listed(profiles)} in the annotation ${POD_ANNOTATIONS.profile}`,
    );
  return [];
}

function checkSidecar(pod: Pod, { survey, gatewaySync, whole }: About): Findings {
  const sidecar = sidecarOf(pod);
  if (sidecar) return checkImage(sidecar, { pod, gatewaySync, whole });
  const { annotations, labels, creationTimestamp } = pod.metadata;
  if (annotations?.[POD_ANNOTATIONS.inject] !== 'true') return [];
  const fail = (says: string, todo: string) =>
    failed('pod/sidecar', `it has no sidecar: ${says}`, { todo, page: INJECTION });
  const again = 'delete it: the new pod gets the sidecar';
  const injectors = injectorsOf(whole);
  const isExcluded = (key: 'namespaceSelector' | 'objectSelector', given: Record<string, string> | undefined) =>
    injectors.length > 0 && !injectors.some(({ webhook }) => fits(webhook[key], given));
  const ofNamespace = seenOr(survey.namespace, undefined)?.metadata.labels;
  if (ofNamespace && isExcluded('namespaceSelector', ofNamespace))
    return fail('injection excludes its namespace', `see the namespace above, then ${again}`);
  if (isExcluded('objectSelector', labels))
    return fail('the objectSelector of the webhook excludes it', `add the labels of the selector, then ${again}`);
  const since = Math.min(...injectors.map(({ configuration }) => Date.parse(configuration.metadata.creationTimestamp)));
  if (injectors.length > 0 && Date.parse(creationTimestamp) < since)
    return fail('it was created before the webhook', again);
  return fail('injection was unavailable when it was created', `${again}; if not, see the problems of injection above`);
}

function checkImage(
  { image = '', securityContext }: Container,
  { pod, gatewaySync, whole }: { pod: Pod } & Omit<About, 'survey'>,
): Findings {
  const chosen = gatewaySync?.spec.agent?.image;
  const wanted = componentsOf(whole.operator, 'controller').flatMap(
    (controller) => settingOf(controller, 'DEFAULT_AGENT_IMAGE') ?? [],
  );
  const { securityContext: ofPod } = pod.spec;
  const isUnset = [ofPod?.runAsUser, ofPod?.fsGroup, securityContext?.runAsUser].every((id) => id === undefined);
  return [
    chosen || wanted.length === 0 || wanted.includes(image)
      ? ok('pod/sidecar', `it has the sidecar ${image}`)
      : warning('pod/agent-image', `its sidecar is ${image}, but the controller injects ${wanted.join(' or ')}`, {
          todo: 'delete it when convenient: the new pod gets the current sidecar',
          page: 'how-to/upgrading.md',
        }),
    isUnset
      ? warning(
          'pod/run-as-user',
          'it sets neither a user nor a group for its volumes: the agent may be unable to write files',
          { todo: 'set securityContext.runAsUser or fsGroup', page: 'explanation/injection.md' },
        )
      : [],
  ];
}

function checkMounts(pod: Pod, gatewaySync: GatewaySync | undefined): Findings {
  const sidecar = sidecarOf(pod);
  const data = sidecar?.volumeMounts?.find(({ mountPath }) => mountPath === DATA_PATH);
  if (!sidecar || !data) return [];
  const profile = pod.metadata.annotations?.[POD_ANNOTATIONS.profile] ?? 'default';
  const mappings = gatewaySync?.spec.sync.profiles[profile]?.mappings ?? [];
  const subPath = variableOf(sidecar, 'DATA_DIRECTORY') ?? data.subPath;
  const parts = mountedParts(pod.spec, { ...data, subPath }).filter(
    ({ path, container }) =>
      container !== AGENT_CONTAINER && mappings.some(({ destination }) => mayMeet(destination, path)),
  );
  if (parts.length === 0) return [];
  const named = listed(parts.map(({ container, path }) => `${path} in ${container}`));
  return warning(
    'pod/sub-path',
    `containers mount parts of the data volume with subPath (${named}): a mounted file never changes, and a mounted directory stops changing after it was removed once`,
    { todo: 'mount the whole volume instead', page: 'how-to/troubleshooting-injection.md#mounts-with-a-subpath' },
  );
}

function checkProcesses(pod: Pod, gatewaySync: GatewaySync | undefined): Findings {
  const signal = gatewaySync?.spec.gateway.reload?.signal;
  if (!signal || pod.spec.shareProcessNamespace || !hasSidecar(pod)) return [];
  return failed(
    'pod/process-namespace',
    `its agent can't send ${signal.name} to ${signal.process}: the pod does not have shareProcessNamespace: true`,
    {
      todo: 'add shareProcessNamespace: true to the pod template, unless a program must be process 1',
      page: 'how-to/reload-by-signal.md#share-the-process-namespace',
    },
  );
}

/** Checks whether a destination can overlap a path. With variables, it always can. */
function mayMeet(destination: string, path: string): boolean {
  if (destination.includes('{{') || path.includes('$(')) return true;
  const found = relativePath(destination);
  return found.kind === 'path' && (isWithin(path, found.path) || isWithin(found.path, path));
}

function checkContainers(pod: Pod, events: readonly Event[]): Findings {
  const troubles = troublesOf(pod);
  if (troubles.length > 0)
    return troubles.map(({ reason, says, todo }) =>
      failed(`pod/container/${reason}`, says, { todo: todo.replace('POD', pod.metadata.name), page: INJECTION }),
    );
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True') return ok('pod/ready', 'its containers are ready');
  if (!ready && !pod.status?.phase) return [];
  const waits = events.filter(
    ({ reason = '', involvedObject: { kind, name, uid } = {} }) =>
      VOLUME_REASONS.includes(reason) &&
      kind === 'Pod' &&
      name === pod.metadata.name &&
      (uid ?? pod.metadata.uid) === pod.metadata.uid,
  );
  const [volume] = newestFirst(waits);
  const isWaiting = pod.status?.phase === 'Pending';
  if (volume && isWaiting)
    return failed(`pod/volume/${volume.reason}`, `waiting for a volume: ${volume.message ?? volume.reason}`, {
      todo: 'create the object in the message, or free the volume; if the resource now specifies a different Secret, delete the pod',
      page: INJECTION,
    });
  return explainUnready(pod);
}

/** Explains why a pod without container errors isn't ready: a node, an image, its agent, or its probe. */
function explainUnready(pod: Pod): Finding {
  const { name } = pod.metadata;
  const containers = containerStatusesOf(pod);
  const warn = (says: string, todo: string) => warning('pod/ready', says, { todo, page: INJECTION });
  const wait = `wait; if it persists, kubectl describe pod ${name}`;
  const message = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.message;
  if (containers.length === 0 && !message) return warn('not started: no node has reported its containers', wait);
  const pulled = containers.find(({ state }) => state?.waiting?.reason === 'ContainerCreating');
  if (pulled)
    return warn(`the container ${pulled.name} is being created: its image or its volumes are not ready yet`, wait);
  const late =
    containers.find(({ ready, state }) => state?.running && !ready) ?? containers.find(({ ready }) => !ready);
  return warn(`not ready${message ? `: ${message}` : ''}`, late ? `see kubectl logs ${name} -c ${late.name}` : wait);
}
