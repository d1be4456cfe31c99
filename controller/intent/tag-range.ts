/** A range of versions, and the prefix of the tags that it applies to, which can be empty. */
export interface TagRange {
  text: string;
  prefix: string;
}

/** Identifies a range in a query. Neither part contains a line break. */
export const rangeKey = ({ text, prefix }: TagRange): string => (prefix === '' ? text : `${prefix}\n${text}`);

/** The range that a key identifies. */
export function readRangeKey(key: string): TagRange {
  const at = key.indexOf('\n');
  return { text: key.slice(at + 1), prefix: key.slice(0, Math.max(at, 0)) };
}

/** A range in a message. */
export const describeRange = ({ text, prefix }: TagRange): string =>
  prefix === '' ? `the range ${text}` : `the range ${text} with the prefix ${prefix}`;
