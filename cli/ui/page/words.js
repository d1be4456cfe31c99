// Labels and looks: always a shape and a word, never only a colour.

/** @typedef {import('../../terminal/bars.ts').Look} Look */
/** @typedef {import('../../fleet/fleet.ts').ResourceState} ResourceState */

/** @type {Record<Look, string>} */
export const LOOKS = {
  new: 'new, verified',
  unchanged: 'new, unchanged files',
  onItsWay: 'updating',
  old: 'old commit',
  failed: 'failed',
};

/** @param {Look} look @param {boolean} isBack whether the old commit is the one that the gateway should have */
export const stateOf = (look, isBack) => (isBack && look === 'old' ? 'rolled back' : LOOKS[look]);

/** @type {Record<ResourceState, string>} */
export const STATES = {
  ready: 'ready',
  busy: 'in progress',
  failed: 'needs attention',
  paused: 'paused',
  rolledBack: 'rolled back',
};

/** @type {Record<string, string>} */
export const MARKS = {
  waiting: 'waiting',
  underWay: 'in progress',
  done: 'done',
  failed: 'failed',
  back: 'rolled back',
};

const counts = new Intl.NumberFormat('en');

/** @param {number} count */
export const formatCount = (count) => counts.format(count);

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${formatCount(count)} ${count === 1 ? one : many}`;

/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const STEPS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Formats the age of a time; empty if it is invalid. @param {string} [time] */
export function ago(time) {
  const at = Date.parse(time ?? '');
  if (Number.isNaN(at)) return '';
  const seconds = Math.max(0, (Date.now() - at) / 1000);
  if (seconds < 5) return 'just now';
  const [size, unit] = STEPS.find(([step]) => seconds >= step) ?? [1, 'second'];
  return relative.format(-Math.floor(seconds / size), unit);
}

/** A duration in milliseconds. @param {number} ms */
export const duration = (ms) =>
  ms < 10_000 ? `${Math.round(ms).toLocaleString('en')} ms` : `${(ms / 1000).toFixed(1)} s`;

/** Looks by urgency. @type {Look[]} */
export const ORDER = ['failed', 'onItsWay', 'new', 'unchanged', 'old'];

/** @type {Record<Look, string>} */
const SHORT = { failed: 'failed', onItsWay: 'updating', new: 'new', unchanged: 'unchanged', old: 'old' };

/**
 * @param {Partial<Record<Look, number>>} looks
 * @param {boolean} [isBack] whether the old commit is the one that the gateways should have
 */
export const wordsOfLooks = (looks, isBack = false) =>
  ORDER.flatMap((look) => {
    const word = isBack && look === 'old' ? 'rolled back' : SHORT[look];
    return looks[look] ? [`${formatCount(looks[look])} ${word}`] : [];
  }).join(' · ');

/** @param {readonly Look[]} looks */
export function countLooks(looks) {
  /** @type {Partial<Record<Look, number>>} */
  const found = {};
  for (const look of looks) found[look] = (found[look] ?? 0) + 1;
  return found;
}
