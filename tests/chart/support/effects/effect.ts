import type { Rendered } from '../render.ts';

/** Effect of a value: the changed place in the rendered objects, and its content if the value is set. */
export interface Effect {
  /** Another value than the default. */
  to: unknown;
  /** Reads the place that the value changes; undefined if it doesn't exist. */
  in: (objects: Rendered[]) => unknown;
  /** Content of the place if the value is set; otherwise, the content differs. */
  is: unknown;
  /** Further values, by their dotted path, that both renderings share. */
  given?: Record<string, unknown>;
}

/** Effects by the dotted path of their value. */
export type Effects = Record<string, Effect>;

/** Reads something of the first object of a kind whose name ends as given; undefined without such an object. */
export function inFirst(kind: string, suffix: string, read: (object: Rendered) => unknown): Effect['in'] {
  return (objects) => {
    const found = objects.find((object) => object.kind === kind && object.metadata.name.endsWith(suffix));
    return found && read(found);
  };
}

/** Reads a field of the first object of a kind whose name ends as given, by its dotted path; -1 is the last of a list. */
export function at(kind: string, suffix: string, path: string): Effect['in'] {
  return inFirst(kind, suffix, (object) =>
    // biome-ignore lint/suspicious/noExplicitAny: of any kind
    path.split('.').reduce<any>((value, key) => (key === '-1' ? value?.at(-1) : value?.[key]), object),
  );
}

/** Counts the objects of a kind. */
export const count =
  (kind: string): Effect['in'] =>
  (objects) =>
    objects.filter((object) => object.kind === kind).length;

/** Effects that the programs' Deployments show. */
export function onDeployment(suffix: string) {
  const field = (path: string) => at('Deployment', suffix, path);
  return {
    field,
    pod: (path: string) => field(`spec.template.spec.${path}`),
    container: (path: string) => field(`spec.template.spec.containers.0.${path}`),
    env: (name: string) =>
      inFirst('Deployment', suffix, ({ spec }) => variableOf(spec.template.spec.containers[0].env, name)),
  };
}

/** Effects of the values that each program has: `suffix` ends the names of its objects, and `prefix` begins its values. */
export function programEffects(repository: string, { suffix, prefix }: { suffix: string; prefix: string }): Effects {
  const deployment = onDeployment(suffix);
  const budget = (name: string) => at('PodDisruptionBudget', suffix, `spec.${name}`);
  const two = { [`${prefix}replicaCount`]: 2 };
  const toleration = { key: 'dedicated', operator: 'Exists' };
  const affinity = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  const spread = { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} };
  const volume = { name: 'ca', configMap: { name: 'ca' } };
  const mount = { name: 'ca', mountPath: '/etc/ca' };
  const registry = repository.slice(0, repository.indexOf('/'));
  const path = repository.slice(repository.indexOf('/') + 1);
  const digest = `sha256:${'a'.repeat(64)}`;
  return {
    'image.registry': { to: 'r.test/mirror', in: deployment.container('image'), is: `r.test/mirror/${path}:0.1.0` },
    'image.repository': { to: 'r.test/c', in: deployment.container('image'), is: 'r.test/c:0.1.0' },
    'image.tag': { to: '7', in: deployment.container('image'), is: `${registry}/${path}:7` },
    'image.digest': { to: digest, in: deployment.container('image'), is: `${repository}@${digest}` },
    'image.pullPolicy': { to: 'Always', in: deployment.container('imagePullPolicy'), is: 'Always' },
    dnsPolicy: { to: 'Default', in: deployment.pod('dnsPolicy'), is: 'Default' },
    dnsConfig: { to: { searches: ['x'] }, in: deployment.pod('dnsConfig'), is: { searches: ['x'] } },
    deploymentAnnotations: { to: { note: 'x' }, in: deployment.field('metadata.annotations.note'), is: 'x' },
    revisionHistoryLimit: { to: 3, in: deployment.field('spec.revisionHistoryLimit'), is: 3 },
    podAnnotations: { to: { note: 'x' }, in: deployment.field('spec.template.metadata.annotations.note'), is: 'x' },
    podLabels: { to: { team: 'x' }, in: deployment.field('spec.template.metadata.labels.team'), is: 'x' },
    priorityClassName: { to: 'critical', in: deployment.pod('priorityClassName'), is: 'critical' },
    nodeSelector: { to: { disk: 'fast' }, in: deployment.pod('nodeSelector'), is: { disk: 'fast' } },
    extraEnv: { to: [{ name: 'TZ', value: 'UTC' }], in: deployment.env('TZ'), is: 'UTC' },
    extraVolumes: { to: [volume], in: deployment.pod('volumes.-1'), is: volume },
    extraVolumeMounts: { to: [mount], in: deployment.container('volumeMounts.-1'), is: mount },
    'resources.requests.cpu': { to: '20m', in: deployment.container('resources.requests.cpu'), is: '20m' },
    'resources.requests.memory': { to: '96Mi', in: deployment.container('resources.requests.memory'), is: '96Mi' },
    'resources.limits.cpu': { to: '1', in: deployment.container('resources.limits.cpu'), is: '1' },
    'resources.limits.memory': { to: '256Mi', in: deployment.container('resources.limits.memory'), is: '256Mi' },
    tolerations: { to: [toleration], in: deployment.pod('tolerations'), is: [toleration] },
    topologySpreadConstraints: { to: [spread], in: deployment.pod('topologySpreadConstraints'), is: [spread] },
    affinity: { to: affinity, in: deployment.pod('affinity'), is: affinity },
    podSecurityContext: { to: { fsGroup: 1 }, in: deployment.pod('securityContext.fsGroup'), is: 1 },
    securityContext: { to: { runAsUser: 1 }, in: deployment.container('securityContext.runAsUser'), is: 1 },
    'podDisruptionBudget.enabled': { to: false, in: budget('selector'), is: undefined, given: two },
    'podDisruptionBudget.maxUnavailable': { to: '20%', in: budget('maxUnavailable'), is: '20%', given: two },
    'podDisruptionBudget.minAvailable': { to: 1, in: budget('minAvailable'), is: 1, given: two },
    'serviceAccount.create': {
      to: false,
      in: at('ServiceAccount', 'mine', 'metadata.name'),
      is: undefined,
      given: { [`${prefix}serviceAccount.name`]: 'mine' },
    },
    'serviceAccount.name': { to: 'mine', in: deployment.pod('serviceAccountName'), is: 'mine' },
    'serviceAccount.annotations': {
      to: { role: 'x' },
      in: at('ServiceAccount', suffix, 'metadata.annotations'),
      is: { role: 'x' },
    },
  };
}

function variableOf(env: { name: string; value?: string }[], name: string): unknown {
  const variable = env.find((each) => each.name === name);
  return variable && 'value' in variable ? variable.value : variable;
}
