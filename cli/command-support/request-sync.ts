import { isDeepStrictEqual } from 'node:util';
import type { RecordedRequest } from '../../shared/domain/kubernetes/recorded-request.ts';
import { type Access, placeOf } from '../client/connect.ts';
import { isConflict, patchGatewaySync } from '../client/patch.ts';
import { getGatewaySync } from '../client/read.ts';
import { followedRef } from '../fleet/request.ts';
import type { Asked } from '../fleet/sync-progress.ts';
import { displacedBy, displacing, makeRequest, refuseFollower } from '../orders/sync.ts';
import type { Host } from '../terminal/host.ts';
import { isConfirmed, say } from './confirm.ts';

/** A request for a sync; without `wanted`, of the followed ref. */
interface Asking {
  name: string;
  wanted: string | undefined;
  yes: boolean | undefined;
  host: Host;
}

/** Maximum attempts if the resource changes between read and write. */
const TRIES = 10;

/**
 * Annotates the resource as the receiver does. Replaces an open request for a different ref only after a confirmation;
 * returns undefined without one. Throws `Problem`.
 */
export async function requestSync(access: Access, { name, wanted, yes, host }: Asking): Promise<Asked | undefined> {
  let agreed: RecordedRequest | undefined;
  for (let tries = 1; ; tries++) {
    const gatewaySync = await getGatewaySync(access, name);
    refuseFollower(gatewaySync);
    const ref = wanted ?? followedRef(gatewaySync);
    const open = displacedBy(ref, gatewaySync);
    if (open && !isDeepStrictEqual(open, agreed)) {
      say(`${placeOf(access)}:`, host);
      say(displacing(gatewaySync, open, ref), host);
      if (!(await isConfirmed(access, { yes, host }))) return undefined;
      agreed = open;
      continue;
    }
    const { asked, change } = makeRequest(ref, access.serverTime(), { isRefresh: wanted === undefined });
    const { resourceVersion } = gatewaySync.metadata;
    try {
      await patchGatewaySync(access, { name, resourceVersion }, change);
      return asked;
    } catch (error) {
      if (!isConflict(error) || tries >= TRIES) throw error;
    }
  }
}
