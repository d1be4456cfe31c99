import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { fittingWaves, isWithin, NO_GATEWAY, waveOf } from '../../../shared/domain/rollout/waves.ts';
import type { Gateway } from '../world/gateway.ts';
import type { Resource } from '../world/resource.ts';
import { gatewaysOf, type Invariant } from './sample.ts';

/** The file that every commit with changes changes. */
const VERSION = 'config/version';

const versionIn = async ({ known }: Resource, commit: string): Promise<string | undefined> =>
  (await known.treeOf(commit)).get('site/version')?.blob;

/** Checks that no gateway gets a commit before its wave is admitted, by comparing each sample with the previous one. */
export function admittedWaves(): Invariant {
  const had = new Map<Gateway, string | undefined>();
  return async (world, { unchanged, files }) => {
    const wrong: string[] = [];
    for (const [resource, object] of unchanged) {
      const { commit, stableCommit, number } = object.status?.rollout ?? {};
      if (commit === undefined || stableCommit === undefined || commit === stableCommit) continue;
      const version = await versionIn(resource, commit);
      // Gateways can get the same file from another commit.
      if (resource.known.quiet.has(commit) || version === (await versionIn(resource, stableCommit))) continue;
      for (const gateway of gatewaysOf(world, resource)) {
        const now = files.get(gateway)?.get(VERSION)?.blob;
        const isNew = now === version && had.has(gateway) && had.get(gateway) !== now;
        if (isNew && !isAdmitted(gateway, object))
          wrong.push(`${gateway.name} has ${commit} of rollout ${number}, but is not admitted`);
      }
    }
    for (const [gateway, found] of files) had.set(gateway, found.get(VERSION)?.blob);
    return wrong;
  };
}

/** A commit that breaks gateways breaks one: it never gets past the first wave. */
export const oneBadGateway: Invariant = ({ gateways }) => {
  const bad = gateways.filter((gateway) => gateway.isBad()).map(({ name }) => name);
  return bad.length > 1 ? [`a commit that breaks gateways is on ${bad.join(' and ')}`] : [];
};

function isAdmitted(gateway: Gateway, { spec, status }: GatewaySync): boolean {
  const admission = status?.rollout?.admission ?? [];
  const fits = fittingWaves(spec.rollout?.waves ?? [], new Map());
  const wave = waveOf(fits, gateway.key, admission);
  return isWithin(gateway.key, admission[wave]?.admitted ?? NO_GATEWAY);
}
