// The page: shows the GatewaySync in the address, or the fleet, and keeps it up to date.
import { ask, follow } from './connection.js';
import { byId, h, redraw, setAttribute, setText } from './dom.js';
import { drawFleet, keyOf } from './fleet.js';
import { shortened } from './hash.js';
import { watchDialog } from './orders.js';
import { closePanel, drawPanel, watchPanel } from './panel.js';
import { drawGatewayParts, drawResource, frameResource } from './resource.js';
import { counted, STATES } from './words.js';

/** @typedef {import('../views.ts').Card} Card */
/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../board.ts').Update} Update */
/** @typedef {{ namespace: string, name: string }} Address */

/** @type {Map<string, Card>} */
const cards = new Map();
/** @type {Update | undefined} */
let latest;
/** @type {Detail | null | undefined} */
let detail;
/** Gateways of the open GatewaySync by pod. @type {Map<string, import('../views.ts').GatewayDot>} */
const gateways = new Map();
/** Data about the open GatewaySync that isn't in the stream. @type {import('./resource.js').Beyond} */
let beyond = {};
let wanted = '';

const main = byId('main');

/** Returns the GatewaySync in the address. */
function opened() {
  const [, namespace, name] = /^#\/([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(location.hash) ?? [];
  return namespace && name ? { namespace, name } : undefined;
}

const stream = follow({
  onUpdate: (update, isFirst) => {
    if (isFirst) {
      cards.clear();
      gateways.clear();
    }
    const before = new Map(cards);
    for (const key of update.gone) cards.delete(key);
    for (const card of update.cards) cards.set(keyOf(card), card);
    latest = update;
    if (update.detail !== undefined) detail = update.detail;
    for (const pod of update.gateways?.gone ?? []) gateways.delete(pod);
    for (const gateway of update.gateways?.changed ?? []) gateways.set(gateway.pod, gateway);
    if (!isFirst) announce(before, update.cards);
    schedule();
  },
  onLost: () =>
    setPulse(
      'lost',
      'kubectl stoker ui does not respond',
      'kubectl stoker ui does not respond: start it again if it has exited. This page may be out of date.',
    ),
});

let isScheduled = false;
/** Draws once before the next frame, regardless of the number of updates. */
function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    draw();
  });
}

function draw() {
  if (!latest) return;
  const { connection, limits } = latest;
  if (connection.isLive) setPulse('live', 'live', limits.join('; '));
  else
    setPulse(
      'lost',
      'cluster unreachable',
      `${connection.says}. This page shows the state at ${new Date(connection.at ?? 0).toLocaleTimeString()}.`,
    );
  const open = opened();
  if (!open) {
    document.title = `${latest.totals.ready}/${latest.totals.resources} ready · gateways`;
    drawFleet(main, cards, latest);
    return;
  }
  document.title = `${detail ? `${STATES[detail.state]} · ` : ''}${open.name} · gateways`;
  if (detail === null) {
    main.dataset.view = 'missing';
    main.replaceChildren(
      h(
        'p',
        { class: 'nothing big' },
        'GatewaySync ',
        h('bdi', {}, `${open.namespace}/${open.name}`),
        ' not found. ',
        h('a', { href: '#/' }, 'All GatewaySyncs'),
      ),
    );
    return;
  }
  frameResource(main, open);
  if (!detail) return;
  drawResource(detail, gateways, beyond);
  askBeyond(open, detail);
}

/** Minimum time between requests of one page (ms). */
const ASK_MS = 2_000;
let askedAt = Number.NEGATIVE_INFINITY;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let asking;

/** Reads data that isn't in the stream: permissions, and the delivery. @param {Address} open @param {Detail} about */
function askBeyond(open, { lastRequest, lastPush, commit, state, counts }) {
  const key = JSON.stringify([open, lastRequest, lastPush, commit, state, counts.synced]);
  if (key === wanted) return;
  wanted = key;
  clearTimeout(asking);
  asking = setTimeout(() => void readBeyond(open), Math.max(0, askedAt + ASK_MS - performance.now()));
}

/** @param {Address} open */
async function readBeyond(open) {
  askedAt = performance.now();
  const query = new URLSearchParams(open);
  const known = beyond.rights;
  const [rights, trace] = await Promise.all([
    known ?? ask(`rights?${query}`).catch(() => undefined),
    ask(`trace?${query}`).catch((/** @type {Error} */ { message }) => ({ message })),
  ]);
  const now = opened();
  if (now?.namespace !== open.namespace || now.name !== open.name) return;
  const traceError = trace.trace ? undefined : (trace.message ?? 'No delivery yet.');
  beyond = { rights, trace: trace.trace, traceError };
  schedule();
}

/** @param {'live' | 'lost' | 'wait'} state @param {string} words @param {string} explanation */
function setPulse(state, words, explanation) {
  setAttribute(byId('pulse'), 'data-state', state);
  setText(byId('pulse-words'), words);
  redraw(byId('alert'), [state, explanation], () =>
    explanation ? [h('p', { class: `notice ${state}` }, h('bdi', {}, explanation))] : [],
  );
}

/** @type {Map<string, string>} */
const untold = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcing;
/** Announces changes to screen readers. @param {Map<string, Card>} before @param {Card[]} changed */
function announce(before, changed) {
  const open = opened();
  for (const card of changed) {
    const old = before.get(keyOf(card));
    const isOpen = open !== undefined && keyOf(card) === `${open.namespace}/${open.name}`;
    const isNews = old?.state !== card.state || (isOpen && old?.says !== card.says);
    if (isNews) untold.set(keyOf(card), `${card.name}: ${STATES[card.state]}, ${shortened(card.says)}`);
  }
  if (announcing !== undefined) return;
  announcing = setTimeout(() => {
    announcing = undefined;
    const news = [...untold.values()];
    untold.clear();
    if (news.length > 0)
      setText(byId('news'), news.length > 3 ? `${counted(news.length, 'GatewaySync')} changed` : news.join('. '));
  }, 1_500);
}

function navigate() {
  closePanel();
  drawPanel(undefined);
  detail = undefined;
  gateways.clear();
  beyond = {};
  wanted = '';
  askedAt = Number.NEGATIVE_INFINITY;
  stream.show(opened());
  schedule();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

const { context, namespace } = document.body.dataset;
byId('place').replaceChildren(h('bdi', {}, context), ' · ', h('bdi', {}, namespace || 'all namespaces'));
watchDialog();
watchPanel();
addEventListener('hashchange', navigate);
document.addEventListener('search', schedule);
// At once, so that the focus can move into what it shows.
document.addEventListener('choose', () => detail && opened() && drawGatewayParts(detail, gateways));
// Updates the displayed ages.
setInterval(schedule, 20_000);
stream.show(opened());
