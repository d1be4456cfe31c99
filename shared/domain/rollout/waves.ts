import { createHash } from 'node:crypto';
import type { LabelSelector, Wave } from '../../api/wave.ts';
import { fitsSelector } from '../kubernetes/fits-selector.ts';

/** A boundary that includes all keys. */
export const ALL = 'all';
/** A boundary that includes no key. */
export const NO_GATEWAY = '';
/** The wave of the gateways that match no other wave. */
const REST = 'rest';

const digits = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** A gateway's position in the order of admission, unique even for pods with the same gateway name. */
export const rolloutKey = (gatewayName: string, podName: string): string => digits(gatewayName) + digits(podName);

/** Checks whether a key is within a boundary. */
export const isWithin = (key: string, boundary: string): boolean => boundary === ALL || key <= boundary;

/** The waves whose selectors match a pod's labels. */
export const fittingWaves = (waves: readonly Wave[], labels: ReadonlyMap<string, string>): boolean[] =>
  waves.map(({ selector }) => fitsSelector(selector, labels));

/**
 * Returns the index of a gateway's wave: the first that matches and includes its key, otherwise the rest. With `end`, only
 * the waves before it are considered, and `end` represents the rest.
 */
export function waveOf(
  fits: readonly boolean[],
  key: string,
  admission: readonly { members: string }[],
  end = fits.length,
): number {
  for (let wave = 0; wave < end; wave += 1)
    if (fits[wave] && isWithin(key, admission[wave]?.members ?? NO_GATEWAY)) return wave;
  return end;
}

/** The names of a plan's waves, including the rest. */
export const waveNames = (waves: readonly Wave[]): string[] => [...waves.map(({ name }) => name), REST];

/**
 * Hash of the fields that assign gateways to waves. An admission for another plan is ignored, because the same boundaries
 * would admit other gateways.
 */
export function planOf(waves: readonly Wave[]): string {
  const parts = waves.map(({ name, selector, gateways }) => [name, selectorParts(selector), gateways ?? null]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Sorts keys, so that their order doesn't matter. */
function selectorParts({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): unknown {
  return [
    Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1)),
    matchExpressions.map(({ key, operator, values = [] }) => [key, operator, values]),
  ];
}
