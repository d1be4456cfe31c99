import { createHash } from 'node:crypto';
import type { LabelSelector, Wave } from '../api/wave.ts';

/** As a boundary: every key is within it. */
export const ALL = 'all';
/** As a boundary: no key is within it. */
export const NOBODY = '';
/** The wave of the gateways that fit no other. */
const REST = 'rest';

const digits = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** A gateway's place in the order in which waves take theirs; pods that share the name of a gateway have different places. */
export const rolloutKey = (gatewayName: string, podName: string): string => digits(gatewayName) + digits(podName);

/** Whether a key is not above a boundary. */
export const isWithin = (key: string, boundary: string): boolean => boundary === ALL || key <= boundary;

type Labels = ReadonlyMap<string, string>;
type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

/** Whether a pod with these labels fits, as Kubernetes' label selectors do; no selector fits all. */
function fitsSelector(selector: LabelSelector | undefined, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels.get(key) === value);
  return hasLabels && matchExpressions.every((expression) => fitsExpression(expression, labels));
}

function fitsExpression({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  const value = labels.get(key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/** Which of the waves a pod could belong to by its labels. */
export const fittingWaves = (waves: readonly Wave[], labels: Labels): boolean[] =>
  waves.map(({ selector }) => fitsSelector(selector, labels));

/**
 * Where a gateway belongs: the index of the first wave that fits and still has room for its key, else that of the rest.
 * With `end` only the waves before it are looked at, and it stands for the rest.
 */
export function waveOf(
  fits: readonly boolean[],
  key: string,
  admission: readonly { members: string }[],
  end = fits.length,
): number {
  for (let wave = 0; wave < end; wave += 1)
    if (fits[wave] && isWithin(key, admission[wave]?.members ?? NOBODY)) return wave;
  return end;
}

/** The waves of a plan by name, the rest included. */
export const waveNames = (waves: readonly Wave[]): string[] => [...waves.map(({ name }) => name), REST];

/**
 * Hash of all that decides on who belongs to which wave. An admission by another plan decides nothing: the same
 * boundaries would let in others.
 */
export function planOf(waves: readonly Wave[]): string {
  const parts = waves.map(({ name, selector, gateways }) => [name, selectorParts(selector), gateways ?? null]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Whatever order its keys have. */
function selectorParts({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): unknown {
  return [
    Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1)),
    matchExpressions.map(({ key, operator, values = [] }) => [key, operator, values]),
  ];
}
