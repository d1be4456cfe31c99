// Gateways as dots, whose shape and letter have the same meaning as their colour.
import { h, keep, redraw, setAttribute } from './dom.js';
import { LOOKS, ORDER, stateOf } from './words.js';

/** @typedef {import('../../terminal/bars.ts').Look} Look */
/** @typedef {{ name: string, pod: string, look: Look, says?: string | undefined }} Dot */

/** Maximum dots that flash at the same time. */
const FLASHING = 50;

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
 * A bar whose parts have the size of the numbers; empty without gateways.
 * @param {HTMLElement} parent
 * @param {Partial<Record<Look, number>>} looks
 */
export function drawBar(parent, looks) {
  const parts = ORDER.filter((look) => looks[look]);
  parent.hidden = parts.length === 0;
  redraw(parent, looks, () =>
    parts.map((look) => {
      const part = h('i', { 'data-look': look });
      part.style.flexGrow = `${looks[look]}`;
      return part;
    }),
  );
}

/**
 * Selectable dots: arrow keys move between them, as in a toolbar. The group handles clicks.
 * @param {HTMLElement} parent
 * @param {readonly Dot[]} dots
 * @param {{ chosen: string | undefined, mark: string }} how
 */
export function drawDots(parent, dots, { chosen, mark }) {
  let flashes = 0;
  keep(parent, dots, {
    key: ({ pod }) => pod,
    make: () => h('button', { type: 'button', class: 'dot', tabindex: -1 }),
    update: (element, { name, look, pod, says }) => {
      const isChanged = element.dataset.look !== undefined && element.dataset.look !== look;
      setAttribute(element, 'data-look', look);
      setAttribute(element, 'aria-label', `${name}: ${stateOf(look, mark === 'back')}${says ? `, ${says}` : ''}`);
      setAttribute(element, 'aria-pressed', pod === chosen ? 'true' : 'false');
      setAttribute(element, 'title', name);
      if (isChanged && flashes < FLASHING) {
        flashes += 1;
        flash(element);
      }
    },
  });
  if (!parent.querySelector(':scope > [tabindex="0"]')) parent.firstElementChild?.setAttribute('tabindex', '0');
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
  for (const dot of parent.querySelectorAll(':scope > [tabindex="0"]')) setAttribute(dot, 'tabindex', -1);
  if (next) setAttribute(next, 'tabindex', 0);
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
