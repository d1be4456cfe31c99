import { Cron } from 'croner';

/** A recurring time (ms since the epoch). */
export interface Schedule {
  /** The last time at or before `at`; undefined if there is none. */
  lastAt(at: number): number | undefined;
  /** The first time after `at`; undefined if there is none. */
  nextAfter(at: number): number | undefined;
}

const FIELDS = ['minute', 'hour', 'day of month', 'month', 'day of week'];
const DAYS_OF_LEAP_YEAR = Array.from({ length: 366 }, (_, day) => new Date(Date.UTC(2028, 0, 1 + day)));

/** Syntax that every cron supports. Extensions (seconds, L, W, #, ?, @daily) are refused. */
const VALUE = '(?:\\d{1,2}|[A-Za-z]{3})';
const PART = new RegExp(`^(?:\\*|${VALUE}(?:-${VALUE})?)(?:/\\d{1,2})?$`);

/** A name of the tz database. Intl also accepts offsets such as +01:00, which have no daylight saving time. */
const ZONE = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/;

/**
 * Reads a cron expression of five fields in a time zone. As in Vixie cron, a time skipped by daylight saving follows
 * right after the gap, and a repeated time counts once; with `*` or a step in minute or hour, the clock decides. If
 * both are specified, either the day of month or the day of week must match. Returns the problem instead of throwing.
 */
export function readSchedule(expression: string, timeZone: string): Schedule | { problem: string } {
  const zone = findZone(timeZone);
  if (zone === undefined) return { problem: `timeZone: ${plain(timeZone)} is not the name of a time zone` };
  const fields = expression.trim().split(/\s+/);
  const problem = problemOf(fields);
  if (problem !== undefined) return { problem: `schedule: ${plain(problem)}` };
  const cron = parse(fields, { timezone: zone });
  return {
    // The library's previous run excludes the specified time.
    lastAt: (at) => cron.previousRuns(1, new Date(at + 1))[0]?.getTime(),
    nextAfter: (at) => cron.nextRuns(1, new Date(at))[0]?.getTime(),
  };
}

/** Removes characters that could change how a condition or a log line is displayed. */
const plain = (text: string) => text.replaceAll(/[^ -~]+/g, '?');

/** Returns one spelling of a zone, because the library keeps a formatter for each spelling forever. */
function findZone(timeZone: string): string | undefined {
  if (!ZONE.test(timeZone)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const parse = (fields: string[], options: { timezone: string } | { utcOffset: number }) =>
  new Cron(fields.join(' '), { ...options, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true });

function problemOf(fields: string[]): string | undefined {
  if (fields.length !== FIELDS.length) {
    return `${fields.join(' ')} does not have the five fields ${FIELDS.join(', ')}`;
  }
  if (!isValid(fields)) {
    const wrong = fields.findIndex((field, index) => !isValid(['*', '*', '*', '*', '*'].with(index, field)));
    return `${fields[wrong]} is not valid as ${FIELDS[wrong]}`;
  }
  // The library would search 400 years for such a day.
  const [, , day = '', month = '', weekday = ''] = fields;
  const days = parse(['0', '0', day, month, weekday], { utcOffset: 0 });
  return DAYS_OF_LEAP_YEAR.some((date) => days.match(date)) ? undefined : `there is no day ${day} in month ${month}`;
}

function isValid(fields: string[]): boolean {
  if (!fields.every((field) => field.split(',').every((part) => PART.test(part)))) return false;
  try {
    parse(fields, { utcOffset: 0 });
    return true;
  } catch {
    return false;
  }
}
