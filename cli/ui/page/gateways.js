// The gateways of one GatewaySync as a table, which is drawn only while it is open.
import { byId, h, redraw, table } from './dom.js';
import { hash, readable } from './hash.js';
import { openPanel } from './panel.js';
import { ago, formatCount } from './words.js';

/** @typedef {import('../views.ts').GatewayDot} Gateway */

/** Rows that are drawn at once. */
const PAGE = 100;

let search = '';
let rows = PAGE;
const again = () => document.dispatchEvent(new Event('choose'));

/** Creates the frame of the table. */
export function frameGateways() {
  search = '';
  rows = PAGE;
  return h(
    'details',
    { class: 'all', id: 'all-gateways', ontoggle: again },
    h('summary', {}, 'All gateways as a table'),
    h(
      'label',
      { class: 'search' },
      h('span', { class: 'unseen' }, 'Search by gateway, pod, wave, status, commit, or reason'),
      h('input', {
        type: 'search',
        placeholder: 'Search gateways',
        autocomplete: 'off',
        spellcheck: 'false',
        oninput: (/** @type {Event} */ { target }) => {
          search = /** @type {HTMLInputElement} */ (target).value.trim().toLowerCase();
          rows = PAGE;
          again();
        },
      }),
    ),
    h('div', { id: 'all', class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'All gateways' }),
  );
}

/** @param {ReadonlyMap<string, Gateway>} gateways */
export function drawGateways(gateways) {
  if (!(/** @type {HTMLDetailsElement} */ (byId('all-gateways')).open)) return;
  const found = [...gateways.values()].filter((gateway) => !search || textOf(gateway).includes(search)).sort(byNeed);
  const shown = found.slice(0, rows);
  redraw(byId('all'), [shown, found.length, shown.map(({ syncedAt }) => ago(syncedAt))], () => [
    found.length > 0 ? table(TITLES, shown.map(rowOf)) : h('p', { class: 'calm' }, 'No gateway matches.'),
    found.length > rows &&
      h(
        'button',
        {
          type: 'button',
          onclick: () => {
            rows += PAGE;
            again();
          },
        },
        `Show more (${formatCount(rows)} of ${formatCount(found.length)})`,
      ),
  ]);
}

/** @param {Gateway} gateway */
const textOf = ({ name, pod, wave, status, commit, waitsFor }) =>
  [name, pod, wave, status, commit, waitsFor].join(' ').toLowerCase();

/** @param {Gateway} gateway */
const needOf = ({ status }) => (status === 'Error' || status === 'MissingSidecar' ? 0 : 1);
/** @param {Gateway} a @param {Gateway} b */
const byNeed = (a, b) => needOf(a) - needOf(b) || (a.pod < b.pod ? -1 : 1);

const TITLES = ['Gateway', 'Pod', 'Wave', 'Status', 'Commit', 'Synced', 'Waits for'];

/** @param {Gateway} gateway */
function rowOf({ name, pod, wave = '', status, commit, syncedAt, waitsFor = '' }) {
  const from = `[data-pod="${CSS.escape(pod)}"]`;
  const open = { type: 'button', class: 'link', 'data-pod': pod, onclick: () => openPanel(pod, from) };
  const cells = [
    pod === name ? '' : pod,
    wave,
    h('span', { class: 'status' }, status),
    commit && hash(commit),
    ago(syncedAt),
    readable(waitsFor),
  ];
  return h(
    'tr',
    { 'data-status': status },
    h('th', { scope: 'row' }, h('button', open, h('bdi', {}, name))),
    cells.map((cell) => h('td', {}, cell)),
  );
}
