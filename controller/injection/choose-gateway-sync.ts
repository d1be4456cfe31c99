import { BOUNDS } from '../../shared/api/bounds.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type Choice, denied, listNames } from './denied.ts';

const CHECKED_ANNOTATIONS = [
  POD_ANNOTATIONS.crName,
  POD_ANNOTATIONS.profile,
  POD_ANNOTATIONS.gatewayName,
  POD_ANNOTATIONS.dataVolume,
  POD_ANNOTATIONS.before,
  POD_ANNOTATIONS.healthPort,
  POD_ANNOTATIONS.metricsPort,
  POD_ANNOTATIONS.stateDirectory,
];

/** Returns the problem of a pod's annotations; undefined if they are valid. */
export function checkAnnotations(annotations: Record<string, string>): string | undefined {
  for (const name of CHECKED_ANNOTATIONS) {
    const value = annotations[name];
    if (value === undefined) continue;
    if (value.trim() === '') return `the annotation ${name} is empty; give it a value, or remove it`;
    if (value.length > BOUNDS.text)
      return `the annotation ${name} is longer than ${BOUNDS.text} characters; shorten it`;
    if (/\p{Cc}/u.test(value))
      return `the annotation ${name} contains control characters, such as a line break; remove them`;
  }
  return undefined;
}

/** A GatewaySync that a pod may belong to. */
export type InjectionCandidate = Pick<ObservedGatewaySync, 'name' | 'spec'>;

/** Finds the resource and the profile that a pod's annotations name; a denial includes advice. */
export function chooseGatewaySync(
  annotations: Record<string, string>,
  candidates: InjectionCandidate[],
  { namespace, others = [] }: { namespace: string; others?: string[] | undefined },
): Choice<{ gatewaySync: InjectionCandidate; profile: string }> {
  const named = annotations[POD_ANNOTATIONS.crName];
  const all = [...candidates.map(({ name }) => name), ...others];
  const names = listNames(all);
  if (all.length === 0) {
    return denied(
      `there is no GatewaySync in namespace ${namespace}; create one, or remove the annotation ${POD_ANNOTATIONS.inject}`,
      'resource',
    );
  }
  if (named === undefined && all.length > 1) {
    return denied(
      `several GatewaySyncs are in namespace ${namespace}; specify one of them (${names}) in the annotation ${POD_ANNOTATIONS.crName}`,
      'resource',
    );
  }
  const gatewaySync = named === undefined ? candidates[0] : candidates.find(({ name }) => name === named);
  if (!gatewaySync) {
    return denied(
      `the annotation ${POD_ANNOTATIONS.crName} names no GatewaySync of namespace ${namespace}; specify one of its GatewaySyncs (${names})`,
      'resource',
    );
  }
  const profile = annotations[POD_ANNOTATIONS.profile] ?? 'default';
  const profiles = Object.keys(gatewaySync.spec.sync.profiles);
  if (!profiles.includes(profile)) {
    return denied(
      `GatewaySync ${gatewaySync.name} has no profile named ${profile}; specify one of its profiles (${listNames(profiles)}) in the annotation ${POD_ANNOTATIONS.profile}`,
      'resource',
    );
  }
  return { kind: 'chosen', gatewaySync, profile };
}
