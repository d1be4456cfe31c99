/** Total number and characters of labels kept, because users can set any number of them on thousands of pods. */
const BOUNDED = { labels: 32, length: 2_048 };

/** The labels that waves select pods by, up to the limit in order of names, the same for controller and agent. */
export function boundedLabels(labels: Iterable<[string, string]>): [string, string][] {
  const sorted = [...labels].sort(([a], [b]) => (a < b ? -1 : 1));
  let length = 0;
  const end = sorted.findIndex(([key, value], index) => {
    length += key.length + value.length;
    return index >= BOUNDED.labels || length > BOUNDED.length;
  });
  return end === -1 ? sorted : sorted.slice(0, end);
}
