import type { Range } from 'semver';
import type { FoundRefs } from '../polling/query-result.ts';
import type { TagRange } from '../polling/version-tags.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Intents } from './intents.ts';

/** A resource with `spec.git.semver`, and what its repository has. */
export interface RangeContext extends TagRange {
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  range: Range;
  found: FoundRefs;
  now: number;
}
