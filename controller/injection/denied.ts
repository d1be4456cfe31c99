/**
 * A pod that doesn't get the sidecar, with advice. `because` names the cause: known resources may be outdated, the pod
 * isn't.
 */
export interface Denied {
  kind: 'denied';
  message: string;
  because: 'pod' | 'resource';
}

/** A choice for the sidecar of a pod. */
export type Choice<T> = ({ kind: 'chosen' } & T) | Denied;

export function denied(message: string, because: Denied['because'] = 'pod'): Denied {
  return { kind: 'denied', message, because };
}

const LISTED_NAMES = 20;

/** Lists names alphabetically for a message, which stays short. */
export function listNames(names: string[]): string {
  const sorted = [...names].sort();
  const more = sorted.length - LISTED_NAMES;
  return `${sorted.slice(0, LISTED_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
