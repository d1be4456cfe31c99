import { createHash } from 'node:crypto';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';

/** Identity of the agent. */
export interface Identity {
  podName: string;
  podUid: string;
  /** The node that the pod runs on, if the injector sets it. */
  node?: string | undefined;
  namespace: string;
  crName: string;
  profile: string;
  /** Name set by the injector, if any. */
  gatewayName: string | undefined;
}

export interface TemplateSources {
  identity: Identity;
  labels: ReadonlyMap<string, string>;
  ref: string;
  commit: string;
  vars: Record<string, string>;
}

/** Returns the gateway's name: as specified, else the label `app.kubernetes.io/name`, else the pod's name. */
export function gatewayNameOf(
  identity: Pick<Identity, 'podName' | 'gatewayName'>,
  labels: ReadonlyMap<string, string>,
): string {
  return identity.gatewayName ?? labels.get('app.kubernetes.io/name') ?? identity.podName;
}

/** Returns all values for templates. `PodOrdinal` exists only if the pod's name ends in a number. */
export function templateValues({ identity, labels, ref, commit, vars }: TemplateSources): ReadonlyMap<string, string> {
  const values = new Map([
    ['GatewayName', gatewayNameOf(identity, labels)],
    ['PodName', identity.podName],
    ['Namespace', identity.namespace],
    ['Ref', ref],
    ['Commit', commit],
    ['CRName', identity.crName],
    ...[...labels].map(([key, value]) => [`Labels.${key}`, value] as const),
    ...Object.entries(vars).map(([key, value]) => [`Vars.${key}`, value] as const),
  ]);
  const ordinal = /-(\d+)$/.exec(identity.podName)?.[1];
  if (ordinal !== undefined) values.set('PodOrdinal', ordinal);
  return values;
}

/** A hash of the values of these keys, so that a file is rendered again only after one of its values changed. */
export function inputsHash(keys: string[], values: TemplateValues): string {
  return createHash('sha256')
    .update(JSON.stringify(keys.map((key) => [key, values.get(key) ?? null])))
    .digest('hex');
}
