import type { RolloutSpec, RolloutStatus } from '../../shared/api/rollout.ts';
import { ALL, isWithin, NOBODY, waveNames, waveOf } from '../../shared/domain/waves.ts';
import type { RolloutGateway } from './rollout-input.ts';

export type Admission = RolloutStatus['admission'];
type Place = Pick<RolloutGateway, 'fits' | 'key'>;

/** Who belongs to which wave from now on; `admitted` in each. What is known of waves by their names stays known. */
export function makeAdmission(
  { waves = [] }: RolloutSpec,
  gateways: readonly RolloutGateway[],
  { admitted, before = [] }: { admitted: string; before?: Admission | undefined },
): Admission {
  const admission: Admission = [];
  for (const [index, wave] of waveNames(waves).entries()) {
    const known = before.find((entry) => entry.wave === wave);
    const share = shareOf(choicesIn(admission, index, gateways), waves[index]?.gateways, { known: known?.of });
    // A new wave has had none yet; its gateways may be about to get their labels.
    const had = known || before.length === 0 ? known?.gateways : 0;
    admission.push({ wave, ...share, admitted, ...(had !== undefined && { gateways: had }) });
  }
  const noted = noteGateways(admission, gateways);
  const hadSome = before.some(hasHad);
  // By other names nobody knows which waves had some: that there were some stays known.
  if (!hadSome || noted.some(hasHad)) return noted;
  return noted.map((entry, index) => (index === noted.length - 1 ? { ...entry, gateways: 1 } : entry));
}

/**
 * Notes which waves have gateways, also such as rest: from now on these waves need one that shows that all is well. What
 * comes to a wave that the rollout has passed over changes nothing for it.
 */
export function noteGateways(admission: Admission, gateways: readonly RolloutGateway[], from = 0): Admission {
  return admission.map((entry, index) => {
    const isNews = index >= from && gateways.some((gateway) => couldBelong(gateway, index, admission));
    return isNews && !hasHad(entry) ? { ...entry, gateways: 1 } : entry;
  });
}

/** Whether a wave has had gateways, so that it needs one that shows that all is well. */
export const hasHad = ({ gateways = 0 }: Admission[number]): boolean => gateways > 0;

/**
 * Forgets that a wave had gateways if all of them belong to an earlier wave from now on, in place of gateways that left: it
 * waits for none then. `before` is the admission by the same waves.
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

/** Index of the wave that is under way, if one is. */
export function waveUnderWay({ admission, wave }: Pick<RolloutStatus, 'admission' | 'wave'>): number | undefined {
  const index = admission.findIndex((entry) => entry.wave === wave);
  return index === -1 ? undefined : index;
}

/**
 * Has a wave that takes a share take the next ones in place of those that are gone, or rest. Nobody is let in by that:
 * all that it had are below its former boundary. Once somebody was let in, that happens once: a commit that makes pods go
 * away would otherwise walk through the fleet. Where a later wave has let in somebody, they could lose what they have.
 */
export function chooseAgain(
  admission: Admission,
  index: number,
  { amount, gateways, isLate }: { amount: unknown; gateways: readonly RolloutGateway[]; isLate: boolean },
): Admission {
  const share = shareOf(choicesIn(admission, index, gateways), amount, { known: admission[index]?.of, isLate });
  const { members } = share;
  const isOver = admission.slice(index + 1).some(({ admitted }) => admitted !== NOBODY);
  const chosen = admission.map((entry, at) => {
    if (at !== index || isOver || entry.isChosenAgain || isWithin(members, entry.members)) return entry;
    if (entry.admitted === NOBODY) return { ...entry, ...share };
    return {
      ...entry,
      ...share,
      admitted: entry.admitted === ALL ? entry.members : entry.admitted,
      isChosenAgain: true,
    };
  });
  return withoutEmptied(chosen, admission, gateways);
}

/** Whether a gateway fits a wave and belongs to none before. */
const couldBelong = ({ fits, key }: Place, index: number, admission: Admission): boolean =>
  (fits[index] ?? index === fits.length) && waveOf(fits, key, admission, index) === index;

/** Of whom a wave can take a share: those that rest show nothing. */
const choicesIn = (admission: Admission, index: number, gateways: readonly RolloutGateway[]): RolloutGateway[] =>
  gateways.filter((gateway) => !gateway.isResting && couldBelong(gateway, index, admission));

/**
 * Who belongs to a wave that takes a share, and of how many that is. Where fewer than half are there of those of whom it
 * was taken last, the others may be on their way: until that is late, it is nobody.
 */
function shareOf(
  choices: readonly RolloutGateway[],
  amount: unknown,
  { known = 0, isLate = false }: { known?: number | undefined; isLate?: boolean },
): { members: string; of?: number } {
  if (amount === undefined) return { members: ALL };
  if (choices.length === 0 || (2 * choices.length < known && !isLate))
    return { members: NOBODY, ...(known > 0 && { of: known }) };
  return { members: lastOf(choices, amount), of: choices.length };
}

/** The key of the last one of the first so many. */
function lastOf(gateways: readonly RolloutGateway[], amount: unknown): string {
  const keys = gateways.map(({ key }) => key).sort();
  return keys[amountOf(amount, keys.length) - 1] ?? NOBODY;
}

/** A number, or a share rounded up, of a total. */
export function amountOf(amount: unknown, total: number): number {
  const share = typeof amount === 'string' ? Number.parseInt(amount, 10) : undefined;
  return Math.min(total, share === undefined ? Number(amount) : Math.ceil((total * share) / 100));
}

/** Whether a gateway may have the release. */
export function isAdmitted({ fits, key }: Place, admission: Admission): boolean {
  return isWithin(key, admission[waveOf(fits, key, admission)]?.admitted ?? NOBODY);
}
