import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { FIELD_MANAGERS, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { type Access, placeOf } from '../client/connect.ts';
import { isConflict, patchGatewaySync } from '../client/patch.ts';
import { getGatewaySync } from '../client/read.ts';
import { addressOf } from '../fleet/names.ts';
import { followedRef, type OpenRequest, openRequest } from '../fleet/request.ts';
import type { Asked } from '../fleet/sync-progress.ts';
import type { Host } from '../terminal/host.ts';
import { isConfirmed, say } from './confirm.ts';

/** What is asked for, and of whom; without `wanted` it is what is followed. */
interface Asking {
  name: string;
  wanted: string | undefined;
  yes: boolean | undefined;
  host: Host;
}

/** Times that the resource may change between being read and being written. */
const TRIES = 10;

/**
 * Annotates the resource as the receiver does, but takes the place of an open request for another ref only if somebody
 * agrees; undefined where nobody does. Throws `Problem`.
 */
export async function askForSync(access: Access, { name, wanted, yes, host }: Asking): Promise<Asked | undefined> {
  let agreed: OpenRequest | undefined;
  for (let tries = 1; ; tries++) {
    const gatewaySync = await getGatewaySync(access, name);
    const ref = wanted ?? followedRef(gatewaySync);
    const open = openRequest(gatewaySync);
    if (open && open.ref !== ref && !isDeepStrictEqual(open, agreed)) {
      say(`${placeOf(access)}:`, host);
      say(`${addressOf(gatewaySync)}: ${wordsOf(open)}, which waits: a request for ${ref} takes its place.`, host);
      if (!(await isConfirmed(access, { yes, host }))) return undefined;
      agreed = open;
      continue;
    }
    const at = new Date(access.serverTime()).toISOString();
    const asked = { id: randomUUID(), ref, at, isRefresh: wanted === undefined };
    const { resourceVersion } = gatewaySync.metadata;
    try {
      await patchGatewaySync(access, { name, resourceVersion }, { annotations: annotationsOf(asked) });
      return asked;
    } catch (error) {
      if (!isConflict(error) || tries >= TRIES) throw error;
    }
  }
}

const wordsOf = ({ ref, by, at }: OpenRequest): string =>
  `${by ?? 'somebody'} asked for ${ref}${at ? ` at ${at}` : ''}`;

const annotationsOf = ({ id, ref, at }: Asked): Record<string, string> => ({
  [REQUEST_ANNOTATIONS.requestedRef]: ref,
  [REQUEST_ANNOTATIONS.requestedAt]: at,
  [REQUEST_ANNOTATIONS.requestedBy]: FIELD_MANAGERS.cli,
  [REQUEST_ANNOTATIONS.requestId]: id,
});
