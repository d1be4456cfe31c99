/** Series, a value a minute, in promtool's notation: `0+1x60` counts up by one for an hour. */
type Series = Record<string, string>;

interface Moment {
  /** Time at which the rules are evaluated. For example, `20m`. */
  at: string;
  series: Series;
}

/** Series that trigger an alert, and series that must not. The release is in the namespace `operator`. */
export interface AlertCase {
  firing: (Moment & { labels?: Record<string, string>; summary: string })[];
  quiet: Moment[];
}
