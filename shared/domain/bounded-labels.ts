/** Anybody may set as many as they like, on thousands of pods; both in all, the second in characters. */
const BOUNDED = { labels: 32, length: 2_048 };

/**
 * The labels by which waves choose a pod: all of them, or as many as are kept of the first by name. Controller and agent
 * must go by the same ones.
 */
export function boundedLabels(labels: Iterable<[string, string]>): [string, string][] {
  const sorted = [...labels].sort(([a], [b]) => (a < b ? -1 : 1));
  let length = 0;
  const end = sorted.findIndex(([key, value], index) => {
    length += key.length + value.length;
    return index >= BOUNDED.labels || length > BOUNDED.length;
  });
  return end === -1 ? sorted : sorted.slice(0, end);
}
