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

/** Counts the objects of a kind. */
export const count =
  (kind: string): Effect['in'] =>
  (objects) =>
    objects.filter((object) => object.kind === kind).length;

/** Effects that the programs' Deployments show. */
export function onDeployment(suffix: string) {
  const read = (reading: (object: Rendered) => unknown) => inFirst('Deployment', suffix, reading);
  return {
    annotation: (key: string) => read(({ metadata }) => metadata.annotations?.[key]),
    spec: (name: string) => read(({ spec }) => spec[name]),
    metadata: (name: string, key: string) => read(({ spec }) => spec.template.metadata[name][key]),
    pod: (name: string) => read(({ spec }) => spec.template.spec[name]),
    lastOf: (name: string) => read(({ spec }) => spec.template.spec[name]?.at(-1)),
    lastOfContainer: (name: string) => read(({ spec }) => spec.template.spec.containers[0][name]?.at(-1)),
    container: (name: string) => read(({ spec }) => spec.template.spec.containers[0][name]),
    env: (name: string) => read(({ spec }) => variableOf(spec.template.spec.containers[0].env, name)),
  };
}

/** Effects of the values that each program's pods have. */
export function podEffects(deployment: ReturnType<typeof onDeployment>, repository: string): Effects {
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
    deploymentAnnotations: { to: { note: 'x' }, in: deployment.annotation('note'), is: 'x' },
    revisionHistoryLimit: { to: 3, in: deployment.spec('revisionHistoryLimit'), is: 3 },
    podAnnotations: { to: { note: 'x' }, in: deployment.metadata('annotations', 'note'), is: 'x' },
    podLabels: { to: { team: 'x' }, in: deployment.metadata('labels', 'team'), is: 'x' },
    priorityClassName: { to: 'critical', in: deployment.pod('priorityClassName'), is: 'critical' },
    nodeSelector: { to: { disk: 'fast' }, in: deployment.pod('nodeSelector'), is: { disk: 'fast' } },
    extraEnv: { to: [{ name: 'TZ', value: 'UTC' }], in: deployment.env('TZ'), is: 'UTC' },
    extraVolumes: { to: [volume], in: deployment.lastOf('volumes'), is: volume },
    extraVolumeMounts: { to: [mount], in: deployment.lastOfContainer('volumeMounts'), is: mount },
  };
}

function variableOf(env: { name: string; value?: string }[], name: string): unknown {
  const variable = env.find((each) => each.name === name);
  return variable && 'value' in variable ? variable.value : variable;
}
