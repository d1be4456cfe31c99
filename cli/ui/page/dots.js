// Gateways as dots, whose shape and letter have the same meaning as their colour.
import { h, keep, setAttribute } from './dom.js';
import { LOOKS } from './words.js';

/** @typedef {import('../../terminal/bars.ts').Look} Look */
/** @typedef {{ name: string, pod: string, look: Look, says?: string }} Dot */

/**
 * Static dots: one picture with a text for screen readers.
 * @param {HTMLElement} parent
 * @param {readonly Look[]} looks
 */
export function drawStrip(parent, looks) {
  const numbered = looks.map((look, index) => ({ look, index }));
  keep(parent, numbered, {
    key: ({ index }) => `${index}`,
    make: () => h('i', { class: 'dot' }),
    update: (element, { look }) => setAttribute(element, 'data-look', look),
  });
}

/**
 * Selectable dots: arrow keys move between them, as in a toolbar.
 * @param {HTMLElement} parent
 * @param {readonly Dot[]} dots
 * @param {{ chosen: string | undefined, onChoose: (pod: string) => void }} how
 */
export function drawDots(parent, dots, { chosen, onChoose }) {
  keep(parent, dots, {
    key: ({ pod }) => pod,
    make: ({ pod }) => h('button', { type: 'button', class: 'dot', tabindex: -1, onclick: () => onChoose(pod) }),
    update: (element, { name, look, pod, says }) => {
      const isChanged = element.dataset.look !== undefined && element.dataset.look !== look;
      setAttribute(element, 'data-look', look);
      setAttribute(element, 'aria-label', `${name}: ${LOOKS[look]}${says ? `, ${says}` : ''}`);
      setAttribute(element, 'aria-pressed', pod === chosen ? 'true' : 'false');
      setAttribute(element, 'title', name);
      if (isChanged) flash(element);
    },
  });
  if (!parent.querySelector('[tabindex="0"]')) parent.firstElementChild?.setAttribute('tabindex', '0');
}

/** @param {HTMLElement} element */
function flash(element) {
  element.classList.remove('changed');
  requestAnimationFrame(() => element.classList.add('changed'));
}

/** @type {Record<string, (index: number, length: number, perRow: number) => number>} */
const MOVES = {
  ArrowRight: (index) => index + 1,
  ArrowLeft: (index) => index - 1,
  ArrowDown: (index, _, perRow) => index + perRow,
  ArrowUp: (index, _, perRow) => index - perRow,
  Home: () => 0,
  End: (_, length) => length - 1,
};

/** Arrow keys of a group of dots. @param {KeyboardEvent} event */
export function moveAmongDots(event) {
  const parent = /** @type {HTMLElement} */ (event.currentTarget);
  const dots = /** @type {HTMLElement[]} */ ([...parent.children]);
  const current = dots.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const move = MOVES[event.key];
  if (!move || current === -1) return;
  event.preventDefault();
  const next = dots[Math.min(Math.max(move(current, dots.length, dotsPerRow(dots)), 0), dots.length - 1)];
  for (const dot of dots) setAttribute(dot, 'tabindex', dot === next ? 0 : -1);
  next?.focus();
}

/** @param {HTMLElement[]} dots */
function dotsPerRow(dots) {
  const top = dots[0]?.offsetTop;
  const second = dots.findIndex(({ offsetTop }) => offsetTop !== top);
  return second === -1 ? dots.length : second;
}

/** Legend of the shapes. */
export const legend = () =>
  h(
    'ul',
    { class: 'legend', 'aria-label': 'Legend' },
    Object.entries(LOOKS).map(([look, words]) =>
      h('li', {}, h('i', { class: 'dot', 'data-look': look, 'aria-hidden': 'true' }), words),
    ),
  );
