// One GatewaySync: its verbs, its waves, and the state of its gateways.
import { byId, h, redraw, setAttribute, setText } from './dom.js';
import { drawDots, legend, moveAmongDots } from './dots.js';
import { drawVerbs } from './orders.js';
import { drawDifferences, drawGateways, drawHistory, drawTrace, drawWaits, gatewayFacts } from './sections.js';
import { ago, counted, countLooks, MARKS, STATES, short, wordsOfLooks } from './words.js';

/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../../fleet/trace.ts').TraceView} TraceView */
/** @typedef {{ may?: boolean, trace?: TraceView, traceError?: string }} Beyond */

/** Pod of the selected gateway. @type {string | undefined} */
let chosen;
/** Last drawn state. @type {Detail} */
let latest;

/** @param {string} id @param {string} title @param {string} [hint] */
const section = (id, title, hint) =>
  h(
    'section',
    { 'aria-labelledby': `${id}-title`, id: `${id}-section` },
    h('h2', { id: `${id}-title` }, title),
    hint && h('p', { class: 'hint' }, hint),
    h('div', { id }),
  );

/**
 * Creates the frame of the view once per GatewaySync. @param {HTMLElement} main @param {{ namespace: string, name:
 * string }} address
 */
export function frameResource(main, { namespace, name }) {
  const view = `${namespace}/${name}`;
  if (main.dataset.view === view) return;
  main.dataset.view = view;
  chosen = undefined;
  main.replaceChildren(
    h('nav', { class: 'back', 'aria-label': 'Back' }, h('a', { href: '#/' }, 'All GatewaySyncs')),
    h(
      'header',
      { class: 'resource-head', id: 'head' },
      h('p', { class: 'where' }, h('bdi', {}, namespace)),
      h('h1', {}, h('bdi', {}, name), ' ', h('span', { class: 'state', id: 'state' })),
      h('p', { class: 'says', id: 'says' }, 'Loading …'),
      h('div', { class: 'verbs', id: 'verbs', role: 'group', 'aria-label': `Actions for ${name}` }),
      h('p', { class: 'hint', id: 'rights' }),
    ),
    h('dl', { class: 'facts', id: 'facts' }),
    h(
      'section',
      { 'aria-labelledby': 'waves-title', class: 'wide' },
      h('div', { class: 'section-head' }, h('h2', { id: 'waves-title' }, 'Gateways'), legend()),
      h('ol', { class: 'waves', id: 'waves' }),
      h('p', { class: 'hint', id: 'unnamed' }),
      h('div', {
        id: 'gateway',
        class: 'gateway',
        role: 'region',
        'aria-label': 'Selected gateway',
        tabindex: -1,
        onkeydown: (/** @type {KeyboardEvent} */ { key }) => key === 'Escape' && leaveGateway(),
      }),
    ),
    h(
      'div',
      { class: 'columns' },
      section('waits', 'Waiting gateways'),
      section('differences', 'Differences from git'),
      section('trace', 'Last delivery'),
      section('history', 'History', 'Commits that all gateways had. You can roll back to any of them.'),
    ),
    h(
      'details',
      { class: 'all' },
      h('summary', {}, 'All gateways as a table'),
      h('div', { id: 'all', class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'All gateways' }),
    ),
  );
}

/**
 * Draws one GatewaySync.
 * @param {Detail} detail
 * @param {Beyond} beyond
 */
export function drawResource(detail, { may, trace, traceError }) {
  const { state, says, name, namespace } = detail;
  setAttribute(byId('head'), 'data-state', state);
  setText(byId('state'), STATES[state]);
  setText(byId('says'), says);
  drawVerbs(byId('verbs'), detail, may);
  setText(
    byId('rights'),
    may === false
      ? `You have read-only access: to make changes, request the role edit in the namespace ${namespace}.`
      : '',
  );
  redraw(
    byId('facts'),
    [
      detail.repo,
      detail.ref,
      detail.range,
      detail.source,
      detail.commit,
      detail.backOn,
      detail.counts,
      detail.rollout,
      ago(detail.resolvedAt),
    ],
    () => drawFacts(detail),
  );
  drawWaves(detail);
  redraw(byId('waits'), detail.waits, () => drawWaits(detail.waits));
  redraw(byId('trace'), [trace, traceError, detail.lastRequest, detail.lastPush, ago(trace?.delivery.at)], () =>
    drawTrace(detail, trace, traceError),
  );
  byId('history-section').hidden = !detail.hasHistory;
  redraw(byId('history'), [detail.history, may, detail.history.map(({ time }) => ago(time))], () =>
    drawHistory(detail, may),
  );
  byId('differences-section').hidden = detail.differences.length === 0;
  redraw(byId('differences'), detail.differences, () => drawDifferences(detail.differences));
  redraw(byId('all'), [detail.gateways, detail.gateways.map(({ syncedAt }) => ago(syncedAt))], () =>
    drawGateways(detail.gateways),
  );
  setAttribute(byId('waves'), 'aria-label', `Waves of ${name}`);
}

/** @param {Detail} detail */
function drawFacts({ repo, ref, range, source, commit, backOn, resolvedAt, counts, rollout }) {
  const specified = range === undefined ? 'set in spec.git.ref' : `the newest tag in ${range}`;
  const followed = { Spec: specified, Request: 'requested', Push: 'pushed' };
  const since = backOn && commit && backOn !== commit ? `instead of ${short(commit)}` : ago(resolvedAt);
  /** @type {[string, (Node | string)[]][]} */
  const facts = [
    ['Repository', [h('bdi', {}, repo)]],
    ['Follows', [h('bdi', {}, ref ?? ''), source ? h('small', {}, followed[source]) : '']],
    [
      'Commit',
      commit
        ? [h('code', { title: backOn ?? commit }, short(backOn ?? commit)), h('small', {}, since)]
        : ['not resolved yet'],
    ],
    ['In sync', [`${counts.synced} of ${counts.total}`]],
  ];
  if (rollout)
    facts.push([
      'Rollout',
      [rollout.summary, rollout.nextCommit ? h('small', {}, `next: ${short(rollout.nextCommit)}`) : ''],
    ]);
  return facts.map(([label, value]) => h('div', {}, h('dt', {}, label), h('dd', {}, value)));
}

/** @param {Detail} detail */
function drawWaves(detail) {
  latest = detail;
  const { bars, gateways, counts } = detail;
  const hasWaves = detail.rollout !== undefined;
  const list = byId('waves');
  const about = new Map(gateways.map((gateway) => [gateway.pod, gateway]));
  const names = bars.map(({ name }) => name).join(' ');
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...bars.map(({ name }) => waveOf(hasWaves ? name : 'all at once')));
  }
  for (const [index, bar] of bars.entries()) {
    const element = /** @type {HTMLElement} */ (list.children[index]);
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (element.querySelector(name));
    const dots = bar.gateways;
    setAttribute(element, 'data-mark', bar.mark);
    setText(part('.mark'), hasWaves ? (MARKS[bar.mark] ?? '') : '');
    const looks = countLooks(dots ?? []);
    const arrived = (bar.mark === 'back' ? looks.old : looks.new) ?? 0;
    setText(part('.share'), dots ? `${arrived}/${dots.length}` : '');
    setText(part('.words'), wordsOfDots(dots, looks));
    const group = part('.dots');
    setAttribute(
      group,
      'aria-label',
      `${hasWaves ? `Wave ${bar.name}: ` : ''}${counted(dots?.length ?? 0, 'gateway')}`,
    );
    drawDots(
      group,
      (dots ?? []).map((dot) => ({ ...dot, says: about.get(dot.pod)?.waitsFor ?? '' })),
      {
        chosen,
        onChoose: (pod) => {
          chosen = chosen === pod ? undefined : pod;
          drawWaves(latest);
          if (chosen !== undefined) showGateway();
        },
      },
    );
  }
  const unnamed = counts.total - gateways.length;
  setText(byId('unnamed'), unnamed > 0 ? `and ${unnamed} more, which the status counts but does not list` : '');
  const shown = chosen === undefined ? undefined : about.get(chosen);
  redraw(byId('gateway'), shown, () => (shown ? gatewayFacts(shown) : []));
}

/** Scrolls to the panel of the selected gateway, which is below the waves. */
function showGateway() {
  const panel = byId('gateway');
  panel.focus({ preventScroll: true });
  panel.scrollIntoView({ block: 'nearest' });
}

/** Closes the panel, and focuses the dot that opened it. */
function leaveGateway() {
  const dot = /** @type {HTMLElement | null} */ (byId('waves').querySelector('[aria-pressed="true"]'));
  chosen = undefined;
  drawWaves(latest);
  dot?.focus();
}

/** @param {string} name */
const waveOf = (name) =>
  h(
    'li',
    { class: 'wave' },
    h('div', { class: 'wave-head' }, h('h3', {}, h('bdi', {}, name)), h('span', { class: 'share' })),
    h('p', { class: 'mark' }),
    h('div', { class: 'dots', role: 'toolbar', onkeydown: moveAmongDots }),
    h('p', { class: 'words' }),
  );

/**
 * Summarizes the gateways of a wave.
 * @param {Detail['bars'][number]['gateways']} dots
 * @param {ReturnType<typeof countLooks>} looks
 */
function wordsOfDots(dots, looks) {
  if (!dots) return 'gateways unknown';
  return dots.length === 0 ? 'no gateway' : wordsOfLooks(looks);
}
