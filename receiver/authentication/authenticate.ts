import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'h3';
import { keyOf, type ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import type { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import type { Body, ReadBody } from '../../shared/io/http/read-body.ts';
import type { ServerClock } from '../../shared/io/kubernetes/server-clock.ts';
import { type Outcome, type RefusalReason, refused } from '../outcome.ts';
import { headersOf, nodeRequestOf, remoteAddressOf, resourceOf } from '../request.ts';
import { authorize, type Secrets } from './authorize.ts';
import { clientAddress } from './client-address.ts';
import type { Replays } from './replays.ts';
import { verifyToken } from './verify-token.ts';

export interface AuthenticateOptions {
  readBody: ReadBody;
  readSecrets: (resource: ResourceName) => Promise<Secrets>;
  /** Failed authentications per address. */
  failures: RateLimit;
  /** Signature checks for an address with too many failures, which an honest sender may share. */
  secondLooks: RateLimit;
  replays: Replays;
  /** The API server's clock, because a wrong clock on this machine must not refuse deliveries. */
  clock: Pick<ServerClock, 'at'>;
  /** Number of trusted proxies that append to `X-Forwarded-For`. */
  trustedHops: number;
}

/** Maximum body read for an address with too many failures (bytes), larger than a usual push. */
const SECOND_LOOK_BYTES = 64 * 1024;

const bodyRefusals: Record<Exclude<Body['kind'], 'read'>, RefusalReason> = {
  tooLarge: 'BodyTooLarge',
  busy: 'Overloaded',
  slow: 'TooSlow',
  tinyPieces: 'TinyPieces',
  aborted: 'BrokenOff',
};

/**
 * Authenticates a delivery, or refuses it. The body isn't parsed, and responses reveal nothing about a resource, until its raw
 * bytes are authenticated.
 */
export function authenticate(options: AuthenticateOptions): Middleware {
  const { readBody, readSecrets, failures, secondLooks, replays, clock, trustedHops } = options;
  return async (event): Promise<Outcome | undefined> => {
    const now = performance.now();
    const resource = resourceOf(event);
    const secrets = await readSecrets(resource);
    const request = nodeRequestOf(event);
    const headers = headersOf(event);
    const client = clientAddress({
      remoteAddress: remoteAddressOf(event),
      forwardedFor: headers['x-forwarded-for'],
      trustedHops,
    });
    // A token is verified before the body is read, so limits for other clients of the address don't affect its holder.
    const isTrusted = verifyToken(headers, secrets.bearer ?? []);
    const waitMs = failures.waitMs(client, now);
    if (waitMs > 0 && !isTrusted && !getsSecondLook(request, secondLooks, client)) {
      return refused('TooManyFailures', { retryAfterMs: waitMs });
    }

    const body = await readBody(request, { isTrusted });
    if (body.kind !== 'read')
      return refused(bodyRefusals[body.kind], body.kind === 'busy' ? { retryAfterMs: 1000 } : {});
    const checkedAt = clock.at(performance.now());
    const authorization = authorize({ headers, body: body.bytes, at: checkedAt }, secrets);
    if (authorization.kind === 'expired') {
      body.release();
      return expired(authorization.signedAt, checkedAt);
    }
    if (authorization.kind === 'unauthorized') {
      body.release();
      failures.count(client, now);
      return waitMs > 0 ? refused('TooManyFailures', { retryAfterMs: waitMs }) : refused('Unauthorized');
    }
    const { replayKey } = authorization;
    event.context.authenticated = { requestId: randomUUID(), body, replayKey };
    if (!replayKey || !replays.has(keyOf(resource), replayKey)) return undefined;
    body.release();
    return { kind: 'ignored', reason: 'Replayed' };
  };
}

/**
 * Refuses a delivery with a right signature that was made at another time. It doesn't count as a failure, because only
 * the holder of a secret can make such a signature, and a copy of it doesn't help to guess one.
 */
function expired(signedAt: Date, checkedAt: Date): Outcome {
  const times = `${signedAt.toISOString()}, and the API server's time is ${checkedAt.toISOString()}`;
  const advice = 'send the delivery again, or correct the clock of the sender';
  return refused('Expired', { error: `the signature is right, but it was made at ${times}; ${advice}` });
}

/** Allows reading a small body of known length despite failures, at a limited rate. */
function getsSecondLook(request: IncomingMessage, secondLooks: RateLimit, client: string): boolean {
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  return length <= SECOND_LOOK_BYTES && secondLooks.take(client, performance.now());
}
