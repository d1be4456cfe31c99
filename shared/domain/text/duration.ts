const milliseconds: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a Go duration in h, m, s, and ms, such as `1h30m`, or undefined if it's invalid. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (milliseconds[unit as string] as number);
  }
  return total;
}

/** Maximum wait that a server can request (ms). */
const MAX_WAIT_MS = 3_600_000;

/** An HTTP date (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Milliseconds of a `Retry-After` (RFC 9110, 10.2.3), at most an hour; undefined if invalid. `now` is in epoch milliseconds. */
export function retryAfterMs(value: string | number | undefined, now: number): number | undefined {
  const text = String(value ?? '').trim();
  if (/^\d+$/.test(text)) return boundedWaitMs(Number(text) * 1000);
  const date = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : boundedWaitMs(Math.max(0, date - now));
}

/** Wait requested by a git server's API (ms), at most an hour: RFC 9110, or the rate-limit headers of GitHub and GitLab. */
export function pauseMs(headers: Record<string, string | string[] | undefined>, now: number): number | undefined {
  const text = (name: string) => [headers[name]].flat()[0];
  const asked = retryAfterMs(text('retry-after'), now);
  if (asked !== undefined) return asked;
  if ((text('x-ratelimit-remaining') ?? text('ratelimit-remaining')) !== '0') return undefined;
  const reset = Number(text('x-ratelimit-reset') ?? text('ratelimit-reset'));
  return Number.isFinite(reset) ? boundedWaitMs(Math.max(1, Math.ceil(reset - now / 1000)) * 1000) : undefined;
}

/** The end of a message about a wait that a server requested (ms). `now` is in epoch milliseconds. */
export const retryingAt = (waitMs: number | undefined, now: number): string =>
  waitMs === undefined ? 'retrying' : `retrying at ${wholeSeconds(now + waitMs)}`;

/** Maximum jitter (ms). */
const MAX_SPREAD_MS = 60_000;

/** A requested wait (ms) with jitter of up to a quarter or a minute, so that clients don't return at once. */
export const spreadPause = (askedMs: number, chance: number): number =>
  askedMs + chance * Math.min(askedMs / 4, MAX_SPREAD_MS);

/** Checks whether a git server's response means rate limiting: 429, or 403 with a wait, as on GitHub. */
export const isTooOften = (status: number, waitMs: number | undefined): boolean =>
  status === 429 || (status === 403 && waitMs !== undefined);

/** A wait requested by a server, at most an hour. */
export const boundedWaitMs = (ms: number): number => Math.min(ms, MAX_WAIT_MS);

/** Maximum time of a Node timer, which fires immediately for longer times and for NaN. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Limits the time of a timer, which then fires early; the caller checks again. */
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

/** A time in the format of Kubernetes: RFC 3339 in whole seconds. */
export const wholeSeconds = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');

/** The smallest of several delays or times; undefined if none is given. */
export function earliest(first: number, ...others: (number | undefined)[]): number;
export function earliest(...times: (number | undefined)[]): number | undefined;
export function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
