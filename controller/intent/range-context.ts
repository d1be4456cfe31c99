import type { Range } from 'semver';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Intents } from './intents.ts';
import type { AdvertisedRefs } from './resolve-ref.ts';
import type { TagRange } from './tag-range.ts';

/** A resource with `spec.git.semver`, and what its repository has. */
export interface RangeContext extends TagRange {
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  range: Range;
  refs: AdvertisedRefs;
  now: number;
}
