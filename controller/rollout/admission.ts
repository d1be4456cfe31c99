import type { RolloutSpec, RolloutStatus } from '../../shared/api/rollout.ts';
import { ALL, isWithin, NO_GATEWAY, waveNames, waveOf } from '../../shared/domain/rollout/waves.ts';
import type { RolloutGateway } from './rollout-input.ts';

export type Admission = RolloutStatus['admission'];

/** Makes the admission of all waves, each with this `admitted`. Facts about earlier waves are kept by name. */
export function makeAdmission(
  { waves = [] }: RolloutSpec,
  gateways: readonly RolloutGateway[],
  { admitted, before = [] }: { admitted: string; before?: Admission | undefined },
): Admission {
  const admission: Admission = [];
  for (const [index, wave] of waveNames(waves).entries()) {
    const known = before.find((entry) => entry.wave === wave);
    const share = shareOf(choicesIn(admission, index, gateways), waves[index]?.gateways, { known: known?.of });
    // A new wave has had no gateways yet, but they may be about to get their labels.
    const had = known || before.length === 0 ? known?.gateways : 0;
    admission.push({ wave, ...share, admitted, ...(had !== undefined && { gateways: had }) });
  }
  const noted = noteGateways(admission, gateways);
  const hadSome = before.some(({ gateways: had = 0 }) => had > 0);
  // If the names changed, it is unknown which waves had gateways. Keep the fact that some had.
  if (!hadSome || noted.some(hadGateways)) return noted;
  return noted.map((entry, index) => (index === noted.length - 1 ? { ...entry, gateways: 1 } : entry));
}

/**
 * Notes which waves have gateways, including paused ones: from now on, each of these waves requires a verified gateway.
 * Gateways that join a wave which the rollout has already passed over don't count.
 */
export function noteGateways(admission: Admission, gateways: readonly RolloutGateway[], from = 0): Admission {
  return admission.map((entry, index) => {
    const hasGateway = index >= from && gateways.some((gateway) => couldBelong(gateway, index, admission));
    return hasGateway && !hadGateways(entry) ? { ...entry, gateways: 1 } : entry;
  });
}

/** Whether a wave has had gateways, and so requires a verified one. A wave that was skipped requires none. */
export const hadGateways = (entry: Admission[number] | undefined): boolean =>
  (entry?.gateways ?? 0) > 0 && !entry?.isUnchanged;

/**
 * Forgets that a wave had gateways if all of them now belong to an earlier wave, where they replace others. It then
 * waits for none. `before` is the admission with the same waves.
 */
export function withoutEmptied(
  admission: Admission,
  before: Admission,
  gateways: readonly RolloutGateway[],
): Admission {
  const sizeIn = (index: number, waves: Admission) =>
    gateways.filter((gateway) => couldBelong(gateway, index, waves)).length;
  return admission.map((entry, index) => {
    const { gateways: had = 0, ...rest } = entry;
    const isEmptied = had > 0 && sizeIn(index, admission) === 0 && sizeIn(index, before) >= had;
    return isEmptied ? rest : entry;
  });
}

/** Index of the current wave, if there is one. */
export function currentWave({ admission, wave }: Pick<RolloutStatus, 'admission' | 'wave'>): number | undefined {
  const index = admission.findIndex((entry) => entry.wave === wave);
  return index === -1 ? undefined : index;
}

/**
 * Replaces gateways of a percentage wave that disappeared, or are paused, with the next candidates. This admits no
 * gateway: all earlier members are below the previous boundary. After the first admission it happens once per wave,
 * because a commit that kills pods would otherwise walk through the fleet. It never happens if a later wave has
 * admitted gateways, which could lose the release.
 */
export function chooseAgain(
  admission: Admission,
  index: number,
  { amount, gateways, isLate }: { amount: unknown; gateways: readonly RolloutGateway[]; isLate: boolean },
): Admission {
  const entry = admission[index];
  const share = shareOf(choicesIn(admission, index, gateways), amount, { known: entry?.of, isLate });
  const isOver = admission.slice(index + 1).some(({ admitted }) => admitted !== NO_GATEWAY);
  if (!entry || isOver || entry.isChosenAgain || isWithin(share.members, entry.members)) return admission;
  const admitted = entry.admitted === ALL ? entry.members : entry.admitted;
  const again = entry.admitted === NO_GATEWAY ? {} : { admitted, isChosenAgain: true };
  return withoutEmptied(admission.with(index, { ...entry, ...share, ...again }), admission, gateways);
}

/** Whether a gateway fits a wave and belongs to no earlier one. */
const couldBelong = ({ fits, key }: RolloutGateway, index: number, admission: Admission): boolean =>
  (fits[index] ?? index === fits.length) && waveOf(fits, key, admission, index) === index;

/** Gateways from which a wave takes its share. Paused ones are excluded, because they can't be verified. */
const choicesIn = (admission: Admission, index: number, gateways: readonly RolloutGateway[]): RolloutGateway[] =>
  gateways.filter((gateway) => !gateway.isPaused && couldBelong(gateway, index, admission));

/**
 * Returns the members of a wave that takes a share, and the fleet size for which it was computed. If fewer than half of
 * the previous number exist, the others may still be starting, so there are no members until the wait is late.
 */
function shareOf(
  choices: readonly RolloutGateway[],
  amount: unknown,
  { known = 0, isLate = false }: { known?: number | undefined; isLate?: boolean },
): { members: string; of?: number } {
  if (amount === undefined) return { members: ALL };
  if (choices.length === 0 || (2 * choices.length < known && !isLate))
    return { members: NO_GATEWAY, ...(known > 0 && { of: known }) };
  return { members: lastKeyOf(choices, amount), of: choices.length };
}

/** Returns the last key of the share. */
function lastKeyOf(gateways: readonly RolloutGateway[], amount: unknown): string {
  const keys = gateways.map(({ key }) => key).sort();
  return keys[amountOf(amount, keys.length) - 1] ?? NO_GATEWAY;
}

/** Returns a number, or a percentage of the total rounded up. */
export function amountOf(amount: unknown, total: number): number {
  const share = typeof amount === 'string' ? Number.parseInt(amount, 10) : undefined;
  return Math.min(total, share === undefined ? Number(amount) : Math.ceil((total * share) / 100));
}

/** Whether a gateway may have the release. */
export function isReleasedIn({ fits, key }: Pick<RolloutGateway, 'fits' | 'key'>, admission: Admission): boolean {
  return isWithin(key, admission[waveOf(fits, key, admission)]?.admitted ?? NO_GATEWAY);
}
