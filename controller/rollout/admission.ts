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
    const amount = waves[index]?.gateways;
    const members = amount === undefined ? ALL : lastOf(choicesIn(admission, index, gateways), amount);
    const had = before.find((entry) => entry.wave === wave)?.gateways;
    admission.push({ wave, members, admitted, ...(had !== undefined && { gateways: had }) });
  }
  return noteGateways(admission, gateways);
}

/** Notes which waves have gateways, also such as rest: from now on these waves need one that shows that all is well. */
export function noteGateways(admission: Admission, gateways: readonly RolloutGateway[]): Admission {
  return admission.map((entry, index) =>
    entry.gateways !== undefined || !gateways.some((gateway) => couldBelong(gateway, index, admission))
      ? entry
      : { ...entry, gateways: 1 },
  );
}

/**
 * Has a wave that takes a share take the next ones in place of those that are gone, or rest. Nobody is let in by that:
 * all that it had are below its former boundary.
 */
export function chooseAgain(
  admission: Admission,
  index: number,
  { amount, gateways }: { amount: unknown; gateways: readonly RolloutGateway[] },
): Admission {
  const members = amount === undefined ? ALL : lastOf(choicesIn(admission, index, gateways), amount);
  return admission.map((entry, at) => {
    if (at !== index || isWithin(members, entry.members)) return entry;
    return { ...entry, members, admitted: entry.admitted === ALL ? entry.members : entry.admitted };
  });
}

/** Whether a gateway fits a wave and belongs to none before. */
const couldBelong = ({ fits, key }: Place, index: number, admission: Admission): boolean =>
  (fits[index] ?? index === fits.length) && waveOf(fits.slice(0, index), key, admission) === index;

/** Of whom a wave can take a share: those that rest show nothing. */
const choicesIn = (admission: Admission, index: number, gateways: readonly RolloutGateway[]): RolloutGateway[] =>
  gateways.filter((gateway) => !gateway.isResting && couldBelong(gateway, index, admission));

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

/** Lets in the next gateways of a wave, so many at most, in the order of their keys; gives the last one, or `all`. */
export function admitMore(members: readonly RolloutGateway[], admitted: string, free: number): string {
  const waiting = members.map(({ key }) => key).filter((key) => !isWithin(key, admitted));
  return free >= waiting.length ? ALL : (waiting.sort()[free - 1] ?? admitted);
}
