const milliseconds: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a Go duration string such as `1h30m`, or undefined where it is none. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (milliseconds[unit as string] as number);
  }
  return total;
}

/** The longest time that a remote may have us wait, in milliseconds. */
const MOST_PATIENCE_MS = 3_600_000;

/** A date as HTTP writes it (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Milliseconds of a `Retry-After`, seconds or a date (RFC 9110, 10.2.3), an hour at most: whoever answers us must not be
 * able to stop us for weeks. Undefined for anything else. `now` is in milliseconds since the epoch.
 */
export function retryAfterMs(value: string | number | undefined, now: number): number | undefined {
  const text = String(value ?? '').trim();
  if (/^\d+$/.test(text)) return boundedWaitMs(Number(text) * 1000);
  const date = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : boundedWaitMs(Math.max(0, date - now));
}

/**
 * How long the API of a git host asks to be left alone, in milliseconds, an hour at most: by RFC 9110, or as GitHub and
 * GitLab say that their limit is used up. `now` is in milliseconds since the epoch.
 */
export function pauseMs(headers: Record<string, string | string[] | undefined>, now: number): number | undefined {
  const text = (name: string) => [headers[name]].flat()[0];
  const asked = retryAfterMs(text('retry-after'), now);
  if (asked !== undefined) return asked;
  if ((text('x-ratelimit-remaining') ?? text('ratelimit-remaining')) !== '0') return undefined;
  const reset = Number(text('x-ratelimit-reset') ?? text('ratelimit-reset'));
  return Number.isFinite(reset) ? boundedWaitMs(Math.max(1, Math.ceil(reset - now / 1000)) * 1000) : undefined;
}

/** Maximum that is added to a pause, in milliseconds. */
const MAX_SPREAD_MS = 60_000;

/**
 * Milliseconds to wait if a server asks for a pause: never less, and up to a quarter or a minute more, so that not all
 * clients come back in the same moment. `chance` is from 0 to 1.
 */
export const spreadPause = (askedMs: number, chance: number): number =>
  askedMs + chance * Math.min(askedMs / 4, MAX_SPREAD_MS);

/** Whether the answer of a git host says that it was asked too often: by 429, or by 403 and a pause, as GitHub does. */
export const isTooOften = (status: number, waitMs: number | undefined): boolean =>
  status === 429 || (status === 403 && waitMs !== undefined);

/** A wait that a remote asked for, an hour at most. */
export const boundedWaitMs = (ms: number): number => Math.min(ms, MOST_PATIENCE_MS);

/** The longest time that a timer of Node can take: it fires at once for anything longer, and for what is no number. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The time for a timer: one that is too long ends early, and its caller looks again. */
export function timerMs(ms: number): number {
  return Number.isNaN(ms) ? LONGEST_TIMER_MS : Math.min(Math.max(0, ms), LONGEST_TIMER_MS);
}

/** A Go duration string with at most three digits of fraction: `842ms`, `1.25s`, `2m5s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(3))}s`;
  const seconds = Math.round(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return `${hours ? `${hours}h` : ''}${minutes}m${seconds % 60}s`;
}

/** A time as Kubernetes writes it: RFC 3339 in whole seconds. */
export const wholeSeconds = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');

/** The smallest of several delays or times; undefined if none is given. */
export function earliest(first: number, ...others: (number | undefined)[]): number;
export function earliest(...times: (number | undefined)[]): number | undefined;
export function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
