// One GatewaySync: its verbs, its waves, and the state of its gateways.
import { byId, h, redraw, setAttribute, setText } from './dom.js';
import { legend } from './dots.js';
import { drawGateways, frameGateways } from './gateways.js';
import { hash, readable } from './hash.js';
import { drawVerbs, rightsWords } from './orders.js';
import { chosenPod, closePanel, drawPanel } from './panel.js';
import { drawPlan } from './plan.js';
import { drawDifferences, drawHistory, drawTrace, drawWaits } from './sections.js';
import { drawWaves } from './waves.js';
import { ago, formatCount, STATES } from './words.js';

/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../../fleet/trace.ts').TraceView} TraceView */
/** @typedef {import('../views.ts').GatewayDot} Gateway */
/** @typedef {import('../desk.ts').Rights} Rights */
/** @typedef {{ rights?: Rights, trace?: TraceView, traceError?: string }} Beyond */

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
    section('plan', 'Plan', 'Changes that the gateways report for the newest commit, before it is delivered.'),
    h(
      'section',
      { 'aria-labelledby': 'waves-title', class: 'wide' },
      h('div', { class: 'section-head' }, h('h2', { id: 'waves-title' }, 'Gateways'), legend()),
      h('ol', { class: 'waves', id: 'waves' }),
      h('p', { class: 'hint', id: 'basis' }),
    ),
    h(
      'div',
      { class: 'columns' },
      section('waits', 'Waiting gateways'),
      section('differences', 'Differences from git'),
      section('trace', 'Last delivery'),
      section('history', 'History', 'Releases, newest first. You can roll back to any that all gateways had.'),
    ),
    frameGateways(),
  );
}

/**
 * Draws one GatewaySync.
 * @param {Detail} detail
 * @param {ReadonlyMap<string, Gateway>} gateways
 * @param {Beyond} beyond
 */
export function drawResource(detail, gateways, { rights, trace, traceError }) {
  const { state, says } = detail;
  setAttribute(byId('head'), 'data-state', state);
  setText(byId('state'), STATES[state]);
  redraw(byId('says'), says, () => [readable(says)]);
  drawVerbs(byId('verbs'), detail, rights);
  setText(byId('rights'), rightsWords(detail, rights));
  const { repo, ref, range, source, commit, backOn, keeps, counts, rollout } = detail;
  const facts = [repo, ref, range, source, commit, backOn, keeps, counts, rollout, ago(detail.resolvedAt)];
  redraw(byId('facts'), facts, () => drawFacts(detail));
  byId('plan-section').hidden = !detail.plan;
  redraw(byId('plan'), detail.plan, () => (detail.plan ? drawPlan(detail.plan) : []));
  drawGatewayParts(detail, gateways);
  redraw(byId('waits'), detail.waits, () => drawWaits(detail.waits));
  redraw(byId('trace'), [trace, traceError, detail.lastRequest, detail.lastPush, ago(trace?.delivery.at)], () =>
    drawTrace(detail, trace, traceError),
  );
  byId('history-section').hidden = !detail.hasHistory;
  const mayChange = rights?.mayChange;
  redraw(byId('history'), [detail.history, mayChange, detail.history?.map(({ completedAt }) => ago(completedAt))], () =>
    drawHistory(detail, mayChange),
  );
  byId('differences-section').hidden = detail.differences.length === 0;
  redraw(byId('differences'), [detail.differences, detail.different], () => drawDifferences(detail));
  setAttribute(byId('waves'), 'aria-label', `Waves of ${name}`);
}

/**
 * Draws the gateways: the dots, the panel of the selected one, and the table.
 * @param {Detail} detail
 * @param {ReadonlyMap<string, Gateway>} gateways
 */
export function drawGatewayParts(detail, gateways) {
  const chosen = chosenPod();
  if (chosen !== undefined && !gateways.has(chosen)) closePanel();
  drawWaves(detail, gateways);
  drawPanel(gateways.get(chosenPod() ?? ''), detail);
  drawGateways(gateways);
  setText(byId('basis'), detail.counts.total > 0 ? `Source: ${detail.basisSays}.` : '');
}

/** @param {Detail} detail */
function drawFacts({ repo, ref, range, source, commit, backOn, keeps, resolvedAt, counts, rollout }) {
  const specified = range === undefined ? 'set in spec.git.ref' : `the newest tag in ${range}`;
  const followed = { Spec: specified, Request: 'requested', Push: 'pushed' };
  const present = backOn ?? keeps;
  const since = present && commit && present !== commit ? ['instead of ', hash(commit)] : [ago(resolvedAt)];
  /** @type {[string, (Node | string)[]][]} */
  const facts = [
    ['Repository', [h('bdi', {}, repo)]],
    ['Follows', [readable(ref), source ? h('small', {}, followed[source]) : '']],
    ['Commit', commit ? [hash(present ?? commit), h('small', {}, ...since)] : ['not resolved yet']],
    ['In sync', [`${formatCount(counts.synced)} of ${formatCount(counts.total)}`]],
  ];
  if (rollout)
    facts.push([
      'Rollout',
      [rollout.summary, rollout.nextCommit ? h('small', {}, 'next: ', hash(rollout.nextCommit)) : ''],
    ]);
  return facts.map(([label, value]) => h('div', {}, h('dt', {}, label), h('dd', {}, value)));
}
