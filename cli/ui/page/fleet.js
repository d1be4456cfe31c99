// The fleet: a card for each GatewaySync, those with problems first.
import { byId, h, keep, redraw, setAttribute, setText } from './dom.js';
import { drawBar, drawStrip, legend } from './dots.js';
import { hash, readable } from './hash.js';
import { counted, formatCount, STATES, wordsOfLooks } from './words.js';

/** @typedef {import('../views.ts').Card} Card */
/** @typedef {import('../board.ts').Update} Update */

const ORDER = ['failed', 'busy', 'rolledBack', 'paused', 'ready'];

/** @param {Card} card */
export const keyOf = ({ namespace, name }) => `${namespace}/${name}`;

/** @param {Card} a @param {Card} b */
const byNeed = (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (keyOf(a) < keyOf(b) ? -1 : 1);

let search = '';

/** Creates the frame of the view once. @param {HTMLElement} main */
function frame(main) {
  if (main.dataset.view === 'fleet') return;
  main.dataset.view = 'fleet';
  main.replaceChildren(
    h(
      'section',
      { class: 'summary', 'aria-label': 'Totals' },
      h('h1', { id: 'fleet-title', class: 'unseen' }, 'Fleet'),
      h('dl', { id: 'totals' }),
    ),
    h(
      'div',
      { class: 'tools' },
      h(
        'label',
        { class: 'search', id: 'search-label' },
        h('span', { class: 'unseen' }, 'Search by name, ref, or message'),
        h('input', {
          type: 'search',
          id: 'search',
          placeholder: 'Search',
          autocomplete: 'off',
          spellcheck: 'false',
          value: search,
          oninput: (/** @type {Event} */ { target }) => {
            search = /** @type {HTMLInputElement} */ (target).value;
            document.dispatchEvent(new Event('search'));
          },
        }),
      ),
      legend(),
    ),
    h('ul', { class: 'cards', id: 'cards', 'aria-labelledby': 'fleet-title' }),
    h('div', { id: 'nothing', class: 'nothing' }),
  );
}

/**
 * Draws the fleet.
 * @param {HTMLElement} main
 * @param {ReadonlyMap<string, Card>} cards
 * @param {Pick<Update, 'totals'>} about
 */
export function drawFleet(main, cards, { totals }) {
  frame(main);
  redraw(byId('totals'), totals, () => [
    figure(totals.synced, totals.gateways, 'gateways in sync'),
    figure(totals.ready, totals.resources, 'GatewaySyncs ready'),
  ]);
  const wanted = search.trim().toLowerCase();
  const isWanted = (/** @type {Card} */ card) =>
    `${keyOf(card)} ${card.ref} ${card.commit} ${card.backOn ?? card.keeps ?? ''} ${card.says}`
      .toLowerCase()
      .includes(wanted);
  const shown = [...cards.values()].filter(isWanted).sort(byNeed);
  keep(byId('cards'), shown, { key: keyOf, make: makeCard, update: updateCard });
  byId('search-label').hidden = cards.size < 5 && !search;
  const where = document.body.dataset.namespace;
  redraw(byId('nothing'), [shown.length, cards.size, wanted], () => {
    if (shown.length > 0) return [];
    if (cards.size > 0) return [h('p', {}, `No GatewaySync matches “${search.trim()}”.`)];
    const place = where
      ? `This is the namespace ${where}; use kubectl stoker ui -A to show all namespaces.`
      : 'This page shows all namespaces.';
    return [h('p', { class: 'big' }, 'No GatewaySync found.'), h('p', {}, place)];
  });
}

/** @param {number} value @param {number} total @param {string} label */
function figure(value, total, label) {
  const part = h('i', { 'data-state': value >= total ? 'ready' : 'busy' });
  part.style.width = `${total ? (value / total) * 100 : 100}%`;
  return h(
    'div',
    { class: 'figure' },
    h('dt', {}, label),
    h('dd', {}, h('b', {}, formatCount(value)), ' ', h('span', {}, `of ${formatCount(total)}`)),
    h('div', { class: 'gauge', 'aria-hidden': 'true' }, part),
  );
}

/** @param {Card} card */
function makeCard(card) {
  const link = h('a', { href: `#/${card.namespace}/${card.name}` }, card.name);
  return h(
    'li',
    { class: 'card' },
    h('div', { class: 'card-head' }, h('h2', {}, link), h('span', { class: 'state' })),
    h('p', { class: 'where' }),
    h('div', { class: 'looks', role: 'img' }, h('div', { class: 'strip' }), h('div', { class: 'bar' })),
    h('p', { class: 'words' }),
    h('p', { class: 'says' }),
    h('p', { class: 'rollout' }),
  );
}

/** @param {HTMLElement} element @param {Card} card */
function updateCard(element, card) {
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (element.querySelector(name));
  setAttribute(element, 'data-state', card.state);
  setText(part('.state'), STATES[card.state]);
  const commit = card.backOn ?? card.keeps ?? card.commit;
  redraw(part('.where'), [card.namespace, card.ref, commit], () => [
    !document.body.dataset.namespace && h('bdi', { class: 'namespace' }, card.namespace),
    card.ref && card.ref !== commit && h('span', { class: 'ref' }, readable(card.ref)),
    commit && hash(commit),
  ]);
  const { looks, lookCounts, counts } = card;
  const isBar = looks.length === 0;
  drawStrip(part('.strip'), looks);
  drawBar(part('.bar'), isBar ? lookCounts : {});
  const words = wordsOfLooks(lookCounts, card.backOn !== undefined);
  setAttribute(part('.looks'), 'aria-label', `${counted(counts.total, 'gateway')}${words ? `: ${words}` : ''}`);
  setText(part('.words'), isBar ? words : '');
  part('.looks').hidden = counts.total === 0;
  setAttribute(part('.looks'), 'data-mark', card.backOn === undefined ? undefined : 'back');
  redraw(part('.says'), card.says, () => [readable(card.says)]);
  setText(part('.rollout'), card.rollout ? card.rollout.summary : '');
}
