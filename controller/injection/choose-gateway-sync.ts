import { BOUNDS } from '../../shared/api/bounds.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

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

export type GatewaySyncChoice =
  | { kind: 'chosen'; gatewaySync: InjectionCandidate; profile: string }
  | { kind: 'denied'; message: string };

/** Finds the resource and the profile that a pod's annotations name; a denial includes advice. */
export function chooseGatewaySync(
  annotations: Record<string, string>,
  candidates: InjectionCandidate[],
  { namespace, others = [] }: { namespace: string; others?: string[] | undefined },
): GatewaySyncChoice {
  const named = annotations[POD_ANNOTATIONS.crName];
  const all = [...candidates.map(({ name }) => name), ...others];
  const names = listNames(all);
  if (all.length === 0) {
    return denied(
      `there is no GatewaySync in namespace ${namespace}; create one, or remove the annotation ${POD_ANNOTATIONS.inject}`,
    );
  }
  if (named === undefined && all.length > 1) {
    return denied(
      `several GatewaySyncs are in namespace ${namespace}; specify one of them (${names}) in the annotation ${POD_ANNOTATIONS.crName}`,
    );
  }
  const gatewaySync = named === undefined ? candidates[0] : candidates.find(({ name }) => name === named);
  if (!gatewaySync) {
    return denied(
      `the annotation ${POD_ANNOTATIONS.crName} names no GatewaySync of namespace ${namespace}; specify one of its GatewaySyncs (${names})`,
    );
  }
  const profile = annotations[POD_ANNOTATIONS.profile] ?? 'default';
  const profiles = Object.keys(gatewaySync.spec.sync.profiles);
  if (!profiles.includes(profile)) {
    return denied(
      `GatewaySync ${gatewaySync.name} has no profile named ${profile}; specify one of its profiles (${listNames(profiles)}) in the annotation ${POD_ANNOTATIONS.profile}`,
    );
  }
  return { kind: 'chosen', gatewaySync, profile };
}

/** A pod that doesn't get the sidecar, with advice. */
export function denied(message: string): { kind: 'denied'; message: string } {
  return { kind: 'denied', message };
}

const LISTED_NAMES = 20;

/** Lists names alphabetically for a message, which stays short. */
export function listNames(names: string[]): string {
  const sorted = [...names].sort();
  const rest = sorted.length - LISTED_NAMES;
  return `${sorted.slice(0, LISTED_NAMES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
