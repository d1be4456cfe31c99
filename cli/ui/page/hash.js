// Commits and times in texts: shortened everywhere, with the full one to copy or to read.
import { byId, h, setText } from './dom.js';

/** Full hashes of commits (SHA-1 or SHA-256). */
const HASH = /\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g;
/** The same, or a time (RFC 3339, UTC). */
const PARTS = /\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const COPIED_MS = 1_500;

/** @param {string} [commit] */
export const short = (commit = '') => commit.slice(0, 8);

/** Shortens all full hashes in a text. @param {string} text */
export const shortened = (text) => text.replace(HASH, short);

/** A button with the short hash, which copies the full one. @param {string} commit */
export const hash = (commit) =>
  h(
    'button',
    {
      type: 'button',
      class: 'hash',
      title: `Copy ${commit}`,
      'aria-label': `${short(commit)}, copy the full hash`,
      onclick: (/** @type {MouseEvent} */ { currentTarget }) =>
        copy(/** @type {HTMLElement} */ (currentTarget), commit),
    },
    short(commit),
  );

/** A text in which each full hash is a button, and each time is local. @param {string} [text] */
export function readable(text = '') {
  let end = 0;
  /** @type {(Node | string)[]} */
  const parts = [];
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    parts.push(text.slice(end, index), part.endsWith('Z') ? localTime(part) : hash(part));
    end = index + part.length;
  }
  return h('bdi', {}, ...parts, text.slice(end));
}

const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });
const calendar = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });

/** @param {string} time */
function localTime(time) {
  const date = new Date(time);
  const day = calendar.format(date);
  const words = day === calendar.format(new Date()) ? clock.format(date) : `${day}, ${clock.format(date)}`;
  return h('time', { datetime: time, title: time }, words);
}

/** @param {HTMLElement} button @param {string} commit */
async function copy(button, commit) {
  const isCopied = await navigator.clipboard.writeText(commit).then(
    () => true,
    () => false,
  );
  setText(byId('news'), isCopied ? `Copied the full hash of ${short(commit)}` : 'The browser did not allow copying');
  button.classList.toggle('copied', isCopied);
  setTimeout(() => button.classList.remove('copied'), COPIED_MS);
}
