import type { RolloutSpec, RolloutStatus } from '../../shared/api/rollout.ts';
import { ALL, isWithin, NOBODY, waveNames, waveOf } from '../../shared/domain/waves.ts';
import type { RolloutGateway } from './rollout-input.ts';

type Admission = RolloutStatus['admission'];

/** Who belongs to which wave from now on; `admitted` in each. */
export function makeAdmission(
  { waves = [] }: RolloutSpec,
  gateways: readonly RolloutGateway[],
  admitted: string,
): Admission {
  const admission: Admission = [];
  for (const [index, { name, gateways: amount }] of waves.entries()) {
    const fitting = gateways.filter(
      ({ fits, key }) => fits[index] && waveOf(fits.slice(0, index), key, admission) === index,
    );
    const members = amount === undefined ? ALL : lastOf(fitting, amountOf(amount, fitting.length));
    admission.push({ wave: name, members, admitted });
  }
  return [...admission, { wave: waveNames(waves).at(-1) as string, members: ALL, admitted }];
}

/** The key of the last one of the first so many. */
function lastOf(gateways: readonly RolloutGateway[], count: number): string {
  const keys = gateways.map(({ key }) => key).sort();
  return keys[count - 1] ?? NOBODY;
}

/** A number, or a share rounded up, of a total. */
export function amountOf(amount: unknown, total: number): number {
  const share = typeof amount === 'string' ? Number.parseInt(amount, 10) : undefined;
  return Math.min(total, share === undefined ? Number(amount) : Math.ceil((total * share) / 100));
}

/** Whether a gateway may have the release. */
export function isAdmitted({ fits, key }: Pick<RolloutGateway, 'fits' | 'key'>, admission: Admission): boolean {
  return isWithin(key, admission[waveOf(fits, key, admission)]?.admitted ?? NOBODY);
}

/** Lets in the next gateways of a wave, so many at most, in the order of their keys; gives the last one, or `all`. */
export function admitMore(members: readonly RolloutGateway[], admitted: string, free: number): string {
  const waiting = members.map(({ key }) => key).filter((key) => !isWithin(key, admitted));
  return free >= waiting.length ? ALL : (waiting.sort()[free - 1] ?? admitted);
}
