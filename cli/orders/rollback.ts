import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { entryOf, isSame, releaseOf, stableOf } from '../../shared/domain/rollout/releases.ts';
import type { StoredRelease } from '../../shared/domain/rollout/stored-release.ts';
import { Problem } from '../client/problem.ts';
import { historyView, releaseWords, type WayBack, wayBackTo } from '../fleet/history.ts';
import { shortCommit } from '../fleet/messages.ts';
import { addressOf, gatewaysDo } from '../fleet/names.ts';
import { isStoppedEarly } from '../fleet/waves.ts';
import { effectOfAnnotation, type OrderEffect } from './order-effect.ts';
import { rolloutOf } from './rollout-of.ts';

/** Target of a rollback, and the releases to choose from; undefined if they can't be read. */
export interface Rollback {
  /** `previous`, or the number or the name of a release. */
  to: string;
  releases: readonly StoredRelease[] | undefined;
}

/** Returns the effect of a rollback. Throws `Problem`. */
export function effectOfRollback(gatewaySync: GatewaySync, rollback: Rollback): OrderEffect {
  const rollout = rolloutOf(gatewaySync);
  const { value, target, isForward } = findWay(gatewaySync, rollback);
  const stable = stableOf(rollout) ?? releaseOf(rollout);
  const isStopped = isStoppedEarly(rollout);
  const wordsOf = (release: typeof stable) => releaseWords(gatewaySync, release);
  if (isStopped && isSame(target, stable))
    throw new Problem(`no gateway has ${wordsOf(releaseOf(rollout))}: all keep ${wordsOf(stable)}`, 'NothingToDo');
  const left = rollout.phase === 'RolledBack' || isStopped ? stable : releaseOf(rollout);
  const way = `${isForward ? 'forward' : 'back'} from ${wordsOf(left)} to ${wordsOf(target)}`;
  const says = gatewaysDo(gatewaySync, {
    one: `rolls ${way}, at once`,
    many: `roll ${way}, all at once`,
    none: ` to roll ${way}`,
  });
  return effectOfAnnotation(gatewaySync, 'rollback', {
    value,
    says: `${says}. Waves, soak, approval, and windows do not apply.`,
    about: [entryOf(left), entryOf(target)],
  });
}

function findWay(gatewaySync: GatewaySync, { to, releases }: Rollback): WayBack {
  const found = wayBackTo(gatewaySync, to, releases ?? []);
  if (found.kind === 'way') return found.way;
  if (!releases)
    throw new Problem(
      `cannot read the SyncReleases of ${addressOf(gatewaySync)}: request the role view there`,
      'Forbidden',
    );
  const list = historyView(gatewaySync, releases)
    .filter(({ canGoBack }) => canGoBack)
    .map(({ number, ref, commit }) => `${number} (${ref === commit ? shortCommit(commit) : ref})`)
    .join(', ');
  if (found.kind === 'unknown' && to === 'previous') {
    const other = list && `; for another one, use --to: ${list}`;
    throw new Problem(`there is no earlier release to roll back to${other}`, 'NothingToDo');
  }
  const choose = list ? `choose one of ${list}` : 'there is no other complete release';
  throw new Problem(`release ${to} ${REFUSED[found.kind]}: ${choose}`, 'InvalidRelease');
}

const REFUSED = {
  unknown: 'not found',
  current: 'is already the release of the gateways',
  incomplete: 'was never complete',
};
