/** Series, a value a minute, in promtool's notation: `0+1x60` counts up by one for an hour. */
type Series = Record<string, string>;

interface Moment {
  /** When the rules are looked at, such as `20m`. */
  at: string;
  series: Series;
}

/** What sets an alert off, and what must not. The release is in the namespace `operator`. */
export interface AlertCase {
  firing: (Moment & { labels?: Record<string, string>; summary: string })[];
  quiet: Moment[];
}
