import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Body, type BodyLimits, createReadBody } from '../../shared/io/http/read-body.ts';
import type { Target } from '../annotations/target.ts';
import { type Refusal, type RefusalReason, refused } from '../routes/refusals.ts';
import type { DeliveryHeaders } from '../sources/delivery.ts';
import { authorize } from './authorize.ts';
import { clientAddress } from './client-address.ts';
import type { RateLimit } from './rate-limit.ts';
import type { ReadSecrets } from './secrets.ts';
import { verifyToken } from './verify-token.ts';

/** An authentic delivery, with the id that it got here. */
export interface Admitted {
  kind: 'admitted';
  requestId: string;
  target: Target;
  headers: DeliveryHeaders;
  body: Uint8Array;
}

export interface AdmitOptions {
  limits: BodyLimits;
  readSecrets: ReadSecrets;
  /** Failed authentications by address. */
  failures: RateLimit;
  /** Proxies before this server whose `X-Forwarded-For` counts. */
  trustedHops: number;
}

/** Lets a delivery in, or refuses it. */
export type Admit = (request: IncomingMessage, target: Target) => Promise<Admitted | Refusal>;

const bodyRefusals: Record<Exclude<Body['kind'], 'read'>, RefusalReason> = {
  tooLarge: 'BodyTooLarge',
  busy: 'Overloaded',
  aborted: 'BrokenOff',
};

/**
 * Reads and authenticates deliveries. It works on the request of Node itself, before any router: most of what comes
 * from the open internet ends here. Nobody learns anything about a resource before authentication.
 */
export function createAdmit({ limits, readSecrets, failures, trustedHops }: AdmitOptions): Admit {
  const readBody = createReadBody(limits);
  return async (request, target) => {
    const started = performance.now();
    const headers = joined(request.headers);
    const client = clientOf(request, trustedHops);
    const waitMs = failures.waitMs(client, started);
    // A token costs no reading of the body, so its holder is never locked out by others behind the same address.
    if (waitMs > 0 && !verifyToken(headers, (await readSecrets(target)).bearer ?? [])) {
      return refused('TooManyFailures', { retryAfterMs: waitMs });
    }
    const body = await readBody(request);
    if (body.kind !== 'read')
      return refused(bodyRefusals[body.kind], body.kind === 'busy' ? { retryAfterMs: 1000 } : {});
    if (!authorize({ headers, body: body.bytes, at: new Date() }, await readSecrets(target))) {
      failures.count(client, started);
      return refused('Unauthorized');
    }
    failures.forgive(client);
    return { kind: 'admitted', requestId: randomUUID(), target, headers, body: body.bytes };
  };
}

function clientOf(request: IncomingMessage, trustedHops: number): string {
  const forwardedFor = joined(request.headers)['x-forwarded-for'];
  return clientAddress({ remoteAddress: request.socket.remoteAddress, forwardedFor, trustedHops });
}

/** Node joins repeated headers itself, all but `set-cookie`. */
function joined(headers: IncomingHttpHeaders): DeliveryHeaders {
  return headers as DeliveryHeaders;
}
