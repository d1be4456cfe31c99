// The waves of one GatewaySync, with a dot for each gateway.
import { byId, h, setAttribute, setText } from './dom.js';
import { drawBar, drawDots, moveAmongDots } from './dots.js';
import { shortened } from './hash.js';
import { chosenPod, openPanel } from './panel.js';
import { counted, countLooks, formatCount, MARKS, wordsOfLooks } from './words.js';

/** @typedef {import('../../terminal/bars.ts').Look} Look */
/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../views.ts').GatewayDot} Gateway */

/** Number of dots above which a wave gets smaller dots, in a box that scrolls. */
const MANY = 120;

/** @type {Look[]} */
const URGENT = ['failed', 'onItsWay'];

/** @param {Detail} detail @param {ReadonlyMap<string, Gateway>} gateways */
export function drawWaves(detail, gateways) {
  const { bars } = detail;
  const hasWaves = detail.rollout !== undefined;
  const list = byId('waves');
  const names = bars.map(({ name }) => name).join(' ');
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...bars.map(({ name }) => waveOf(hasWaves ? name : 'all at once')));
  }
  for (const [index, bar] of bars.entries()) {
    const dots = bar.pods?.flatMap((pod) => gateways.get(pod) ?? []);
    drawWave(/** @type {HTMLElement} */ (list.children[index]), { ...bar, dots, hasWaves });
  }
}

/**
 * @param {HTMLElement} element
 * @param {Detail['bars'][number] & { dots: Gateway[] | undefined, hasWaves: boolean }} wave
 */
function drawWave(element, { name, state, dots, hasWaves }) {
  const part = (/** @type {string} */ className) => /** @type {HTMLElement} */ (element.querySelector(className));
  const looks = countLooks(dots?.flatMap(({ look }) => look ?? []) ?? []);
  const isMany = dots !== undefined && dots.length > MANY;
  const arrived = state === 'back' ? (looks.old ?? 0) : (looks.new ?? 0) + (looks.unchanged ?? 0);
  setAttribute(element, 'data-mark', state);
  element.classList.toggle('many', isMany);
  const isGoingBack = state === 'back' && arrived < (dots?.length ?? 0);
  setText(part('.mark'), hasWaves ? markWords(state, isGoingBack) : '');
  setText(part('.share'), dots ? `${formatCount(arrived)}/${formatCount(dots.length)}` : '');
  setText(part('.words'), dots ? wordsOfLooks(looks, state === 'back') || 'no gateway' : 'gateways unknown');
  drawBar(part('.bar'), isMany ? looks : {});
  const group = part('.dots');
  group.classList.toggle('many', isMany);
  setAttribute(group, 'aria-label', `${hasWaves ? `Wave ${name}: ` : ''}${counted(dots?.length ?? 0, 'gateway')}`);
  const shown = isMany ? urgentFirst(dots) : (dots ?? []);
  drawDots(
    group,
    shown.map(({ name: gateway, pod, look = 'old', waitsFor }) => ({
      name: gateway,
      pod,
      look,
      says: waitsFor && shortened(waitsFor),
    })),
    { chosen: chosenPod(), mark: state },
  );
}

/** @param {string} state @param {boolean} isGoingBack */
const markWords = (state, isGoingBack) => (isGoingBack ? 'rolling back' : (MARKS[state] ?? ''));

/** @param {Gateway[]} dots */
function urgentFirst(dots) {
  const groups = Map.groupBy(dots, ({ look = 'old' }) => (URGENT.includes(look) ? look : 'old'));
  return [...URGENT, /** @type {Look} */ ('old')].flatMap((look) => groups.get(look) ?? []);
}

/** @param {MouseEvent} event */
function choose({ target }) {
  const { key: pod } = /** @type {HTMLElement} */ (target).dataset;
  if (pod !== undefined) openPanel(pod, `.dots > [data-key="${CSS.escape(pod)}"]`);
}

/** @param {string} name */
const waveOf = (name) =>
  h(
    'li',
    { class: 'wave' },
    h('div', { class: 'wave-head' }, h('h3', {}, h('bdi', {}, name)), h('span', { class: 'share' })),
    h('p', { class: 'mark' }),
    h('div', { class: 'bar', 'aria-hidden': 'true' }),
    h('p', { class: 'words' }),
    h('div', { class: 'dots', role: 'toolbar', onkeydown: moveAmongDots, onclick: choose }),
  );
