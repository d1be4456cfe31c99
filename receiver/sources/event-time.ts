/** A date and a time with a zone: `2025-03-19T16:19:36.993+08:00`, `2017-09-19T09:58:11+1000`, `2020-11-02 12:55:12 UTC`. */
const FORMAT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))? ?(?:(Z|UTC)|([+-]\d\d):?(\d\d))$/i;

/**
 * Reads the time of an event (ms since the epoch). Undefined for other formats, for times without a zone, and for the
 * zero times of other systems, which mean that the time is unknown.
 */
export function eventTime(text: string | null | undefined): number | undefined {
  const parts = FORMAT.exec(text ?? '');
  if (!parts) return undefined;
  const [, date, time, fraction = '0', utc, hours, minutes] = parts;
  const parsed = Date.parse(`${date}T${time}.${fraction.slice(0, 3)}${utc ? 'Z' : `${hours}:${minutes}`}`);
  return parsed > 0 ? parsed : undefined;
}
