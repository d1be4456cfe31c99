// The plan of a commit before it is delivered: a table of the waves, failures, and groups of identical changes.
import { h, table } from './dom.js';
import { readable } from './hash.js';
import { counted } from './words.js';

/** @typedef {import('../../fleet/plan-summary.ts').PlanSummary} Plan */
/** @typedef {Plan['groups'][number]} Group */

/** Marks and meanings of changes. */
const KINDS = {
  add: { mark: '+', meaning: 'new' },
  modify: { mark: '~', meaning: 'changed' },
  delete: { mark: '−', meaning: 'deleted' },
};

/** @param {Plan} plan */
export const drawPlan = (plan) => [
  h('p', { class: 'effect', 'data-verdict': plan.verdict }, readable(plan.says)),
  drawCounts(plan.counts),
  ...drawGroups(plan, { isFirstOpen: true }),
  plan.others.length > 0 &&
    h(
      'ul',
      { class: 'others' },
      plan.others.map((line) => h('li', {}, readable(line))),
    ),
  plan.note && h('p', { class: 'others' }, h('bdi', {}, plan.note)),
];

/**
 * Draws the failures and the groups, which an approval is about.
 * @param {Plan} plan
 * @param {{ isFirstOpen: boolean }} options
 */
export const drawGroups = ({ failing, groups, moreFailing, moreGroups }, { isFirstOpen }) => [
  failing.length > 0 &&
    h(
      'ul',
      { class: 'failing' },
      failing.map(({ who, why }) =>
        h(
          'li',
          {},
          h('p', {}, h('strong', {}, 'cannot be delivered to '), h('bdi', {}, who)),
          h('p', { class: 'why' }, readable(why)),
        ),
      ),
    ),
  moreFailing && h('p', { class: 'others' }, moreFailing),
  ...groups.map((group, index) => drawGroup(group, isFirstOpen && index === 0)),
  moreGroups && h('p', { class: 'others' }, moreGroups),
];

/** @param {Group} group @param {boolean} open */
const drawGroup = ({ who, changes, hidden }, open) =>
  h(
    'details',
    { class: 'group', open, 'data-key': changes.map(({ kind, path }) => `${kind} ${path}`).join('\n') },
    h('summary', {}, h('bdi', {}, who), h('small', {}, counted(changes.length + hidden, 'file'))),
    h('ul', {}, changes.map(drawChange)),
    hidden > 0 && h('p', { class: 'others' }, `and ${counted(hidden, 'more file')}`),
  );

/** @param {Group['changes'][number]} change */
function drawChange({ kind = 'modify', path, reason }) {
  const { mark, meaning } = KINDS[kind];
  return h(
    'li',
    { 'data-kind': kind },
    h('span', { class: 'mark', 'aria-hidden': 'true' }, mark),
    h('span', { class: 'unseen' }, `${meaning}: `),
    h('code', {}, h('bdi', {}, path)),
    reason && h('small', {}, reason),
  );
}

/** @param {Plan['counts']} counts */
function drawCounts({ columns, rows }) {
  const hasWaves = rows.some(({ wave }) => wave !== undefined);
  const titles = [...(hasWaves ? ['wave'] : []), ...columns.map(({ title }) => title)];
  const drawn = rows.map(({ wave, counts }) =>
    h(
      'tr',
      {},
      wave !== undefined && h('th', { scope: 'row' }, h('bdi', {}, wave)),
      counts.map((count, index) => h('td', { 'data-count': count > 0 && columns[index]?.key }, count)),
    ),
  );
  const region = { class: 'counts scroll', tabindex: 0, role: 'region', 'aria-label': 'Gateways by wave' };
  return h('div', region, table(titles, drawn));
}
