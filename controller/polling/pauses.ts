import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import { isTooOften, pauseMs, retryingAt } from '../../shared/domain/text/duration.ts';
import { TransientError } from '../../shared/errors.ts';

/** The part of a response that can request a pause. */
interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
}

interface Pause {
  status: number;
  /** Time of a monotonic clock (ms). */
  endsAt: number;
  message: string;
}

/** Maximum pauses that are kept, because tenants choose the servers and the credentials. */
const MAX_PAUSES = 1_000;
/** Pause after a 429 that doesn't state one (ms), as GitHub recommends. */
const UNSTATED_MS = 60_000;

/**
 * Pauses that git servers request. A pause because of a rate limit is for one origin and one account, for all resources
 * and causes. Without credentials, it is for all namespaces, because the server counts requests per address. A pause
 * because of an error is only for the repository. A pause lasts for at most an hour.
 */
export class Pauses {
  readonly #pauses = new LruMap<string, Pause>(MAX_PAUSES);

  /** Throws a {@link TransientError} if the server has requested a pause that isn't over. */
  check(url: URL, account: string | undefined): void {
    for (const key of [keyOfLimit(url, account), keyOfRepository(url, account)]) {
      const pause = this.#pauses.get(key);
      const leftMs = pause ? pause.endsAt - performance.now() : 0;
      if (pause && leftMs > 0) throw errorOf(pause, leftMs);
    }
  }

  /** Begins the pause that a response requests, and returns its error; undefined if it requests none. */
  begin(url: URL, account: string | undefined, answer: Answer): TransientError | undefined {
    const waitMs = requestedMs(answer);
    if (waitMs === undefined) return undefined;
    const { status } = answer;
    const message = `the git server returned ${status}; ${retryingAt(waitMs, Date.now())}`;
    const pause = { status, endsAt: performance.now() + waitMs, message };
    this.#pauses.set(isServerError(status) ? keyOfRepository(url, account) : keyOfLimit(url, account), pause);
    return errorOf(pause, waitMs);
  }
}

function requestedMs({ status, headers }: Answer): number | undefined {
  const statedMs = pauseMs(headers, Date.now());
  if (isServerError(status)) return statedMs;
  return isTooOften(status, statedMs) ? (statedMs ?? UNSTATED_MS) : undefined;
}

const errorOf = ({ status, message }: Pause, retryAfterMs: number): TransientError =>
  new TransientError(message, {
    code: `git.http${status}`,
    reason: isServerError(status) ? 'GitUnreachable' : 'GitRateLimited',
    retryAfterMs,
  });

const isServerError = (status: number): boolean => status >= 500;

const keyOfLimit = ({ origin }: URL, account: string | undefined): string => hashOf(origin, account);

const keyOfRepository = ({ origin, pathname }: URL, account: string | undefined): string =>
  hashOf(`${origin}${pathname.replace(SERVICE, '')}`, account);

/** The end of a path that git adds to the URL of a repository. */
const SERVICE = /\/(?:info\/refs|git-upload-pack)$/;

/** Secrets and long URLs aren't kept. */
const hashOf = (url: string, account: string | undefined): string => hash('sha256', JSON.stringify([url, account]));
