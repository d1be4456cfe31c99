// The side panel with the details of one gateway.
import { byId, h, redraw, setAttribute } from './dom.js';
import { readable } from './hash.js';
import { ago, stateOf } from './words.js';

/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../views.ts').GatewayDot} Gateway */

/** Pod of the selected gateway. @type {string | undefined} */
let chosen;
/** The dot or the row that opened the panel. @type {string} */
let opener = '';

/** Returns the pod of the selected gateway. */
export const chosenPod = () => chosen;

/** Opens the panel, and moves the focus into it. @param {string} pod @param {string} from selector of its opener */
export function openPanel(pod, from) {
  chosen = pod;
  opener = from;
  document.dispatchEvent(new Event('choose'));
  const panel = byId('gateway');
  panel.scrollTop = 0;
  panel.focus({ preventScroll: true });
  document.querySelector(from)?.scrollIntoView({ block: 'nearest' });
}

/** Closes the panel, and returns the focus to its opener. */
export function closePanel() {
  if (chosen === undefined) return;
  chosen = undefined;
  const hadFocus = byId('gateway').contains(document.activeElement);
  document.dispatchEvent(new Event('choose'));
  const target = /** @type {HTMLElement | null} */ (document.querySelector(opener)) ?? byId('main');
  if (hadFocus || document.activeElement === document.body) target.focus();
}

/** Closes the panel on Escape, wherever the focus is. */
export function watchPanel() {
  document.addEventListener('keydown', ({ key, defaultPrevented }) => {
    const isInDialog = /** @type {HTMLDialogElement} */ (byId('dialog')).open;
    if (key === 'Escape' && !defaultPrevented && !isInDialog) closePanel();
  });
}

/**
 * Draws the panel.
 * @param {Gateway | undefined} gateway the selected one, if it still exists
 * @param {Detail} [detail]
 */
export function drawPanel(gateway, detail) {
  const panel = byId('gateway');
  const differences = detail?.differences.find(({ pod }) => pod === gateway?.pod);
  panel.hidden = gateway === undefined;
  document.body.classList.toggle('has-panel', gateway !== undefined);
  setAttribute(panel, 'data-look', gateway?.look);
  redraw(panel, gateway && [gateway, differences, detail?.backOn, ago(gateway.syncedAt)], () =>
    gateway ? [...factsOf(gateway, detail?.backOn !== undefined), ...filesOf(differences)] : [],
  );
}

/** @param {Gateway} gateway @param {boolean} isBack */
function factsOf({ name, pod, profile, wave, look, status, commit, syncedAt, took, waitsFor }, isBack) {
  /** @type {[string, string | undefined][]} */
  const facts = [
    ['State', look && stateOf(look, isBack)],
    ['Waits for', waitsFor],
    ['Wave', wave],
    ['Commit', commit],
    ['Synced', syncedAt && `${ago(syncedAt)}${took ? `, in ${took}` : ''}`],
    ['Status', status],
    ['Profile', profile],
    ['Pod', pod],
  ];
  return [
    h(
      'div',
      { class: 'panel-head' },
      h('h2', {}, h('i', { class: 'dot', 'data-look': look, 'aria-hidden': 'true' }), h('bdi', {}, name)),
      h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close the details', onclick: closePanel }, 'Close'),
    ),
    h(
      'dl',
      {},
      facts.flatMap(([label, value]) =>
        value ? [h('div', {}, h('dt', {}, label), h('dd', {}, readable(value)))] : [],
      ),
    ),
  ];
}

/** @param {Detail['differences'][number]} [differences] */
const filesOf = (differences) =>
  differences
    ? [
        h('h3', {}, differences.kind === 'drift' ? 'Differs from git' : 'A dry run would change'),
        h(
          'ul',
          { class: 'difference' },
          differences.files.map((file) => h('li', {}, h('code', {}, h('bdi', {}, file)))),
        ),
      ]
    : [];
