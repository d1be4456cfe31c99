// Sections about one GatewaySync below its waves.
import { h } from './dom.js';
import { hash, readable } from './hash.js';
import { openDialog } from './orders.js';
import { ago, counted, duration, formatCount } from './words.js';

/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../../fleet/trace.ts').TraceView} TraceView */

/** Maximum steps of a delivery that are shown at once. */
const MOMENTS = 9;
const MISSING = 4;

/** @param {Detail['waits']} waits */
export function drawWaits(waits) {
  if (waits.length === 0) return [h('p', { class: 'calm' }, 'No gateway is waiting.')];
  return [
    h(
      'ul',
      { class: 'waits' },
      waits.map(({ why, status, count, gateways }) => {
        const more = count - gateways.length;
        const names = gateways.flatMap((name, index) => [index > 0 ? ', ' : '', h('bdi', {}, name)]);
        return h(
          'li',
          { 'data-status': status },
          h('p', { class: 'why' }, readable(why)),
          h(
            'p',
            { class: 'who' },
            status !== 'Synced' && h('span', { class: 'status' }, status, ' '),
            names,
            more > 0 ? ` and ${formatCount(more)} more` : '',
          ),
        );
      }),
    ),
  ];
}

/** @param {Pick<Detail, 'name' | 'differences' | 'different'>} detail */
export const drawDifferences = ({ name, differences, different }) => [
  ...differences.map(({ gateway, kind, files }) =>
    h(
      'details',
      { class: 'difference', open: differences.length === 1, 'data-key': gateway },
      h(
        'summary',
        {},
        h('bdi', {}, gateway),
        h(
          'small',
          {},
          kind === 'drift'
            ? counted(files.length, 'file differs', 'files differ')
            : `a dry run would change ${counted(files.length, 'file')}`,
        ),
      ),
      h(
        'ul',
        {},
        files.map((file) => h('li', {}, h('code', {}, h('bdi', {}, file)))),
      ),
    ),
  ),
  different > differences.length &&
    h(
      'p',
      { class: 'hint' },
      `and ${formatCount(different - differences.length)} more gateways: kubectl stoker drift ${name} --all lists them`,
    ),
];

/** @param {Detail} detail @param {boolean} [mayChange] */
export function drawHistory({ namespace, name, history }, mayChange) {
  if (!history) return [h('p', { class: 'calm' }, 'The SyncReleases cannot be read.')];
  if (history.length === 0) return [h('p', { class: 'calm' }, 'The history is empty.')];
  const current = history.findIndex(({ isStable }) => isStable);
  const wayOf = (/** @type {number} */ index) => (index < current ? 'Roll forward' : 'Roll back');
  return [
    h(
      'ol',
      { class: 'history' },
      history.map(
        ({ number, name: to, phase, result, ref, commit, completedAt, approvedBy, isStable, canGoBack }, index) =>
          h(
            'li',
            { class: isStable ? 'stable' : '' },
            h(
              'div',
              { class: 'release' },
              h('b', {}, `${number}`),
              h('span', { class: 'ref' }, ref === commit ? '' : readable(ref)),
              hash(commit),
              isStable && h('span', { class: 'note' }, 'current'),
              h('small', { class: 'result' }, [result ?? phase, ago(completedAt)].filter(Boolean).join(', ')),
              approvedBy && h('small', { class: 'result' }, 'approved by ', h('bdi', {}, approvedBy)),
            ),
            canGoBack &&
              mayChange !== false &&
              h(
                'button',
                {
                  type: 'button',
                  class: 'quiet',
                  'aria-label': `${wayOf(index)} to release ${number}`,
                  onclick: () => openDialog({ verb: 'rollback', namespace, name, to }),
                },
                wayOf(index),
              ),
          ),
      ),
    ),
  ];
}

/** The last request and push, and their outcome. @param {Pick<Detail, 'lastRequest' | 'lastPush'>} detail */
const echoes = ({ lastRequest, lastPush }) =>
  [
    { what: 'Request', echo: lastRequest, by: lastRequest?.by },
    { what: 'Push', echo: lastPush, by: undefined },
  ].flatMap(({ what, echo, by }) => {
    if (!echo) return [];
    const outcome = echo.outcome === 'Pending' ? 'still open' : echo.outcome.toLowerCase();
    const words = `${by ? ` by ${by}` : ''}, ${ago(echo.at)}: ${outcome}${echo.message ? `, ${echo.message}` : ''}`;
    return [h('div', {}, h('dt', {}, what), h('dd', {}, readable(`${echo.ref}${words}`)))];
  });

/** Without a delivery and an error, it isn't read yet. @param {Detail} detail @param {TraceView} [trace] @param {string} [error] */
export function drawTrace(detail, trace, error) {
  const asked = echoes(detail);
  const list = asked.length > 0 && h('dl', { class: 'echoes' }, asked);
  if (!trace) return [list, error && h('p', { class: 'calm' }, error)];
  const { moments, missing } = trace;
  const longest = Math.max(...moments.map(({ ms }) => ms), 1);
  const line = (/** @type {TraceView['moments'][number]} */ { what, ms }) => {
    const words = h('span', { class: 'what' }, readable(what));
    words.style.setProperty('--share', `${Math.max(1, (ms / longest) * 100)}%`);
    return h('li', {}, h('span', { class: 'ms' }, duration(ms)), words);
  };
  const unsaid = missing.length - MISSING;
  const later = moments.slice(MOMENTS);
  return [
    list,
    h('ol', { class: 'timeline' }, moments.slice(0, MOMENTS).map(line)),
    later.length > 0 &&
      h('details', {}, h('summary', {}, `${later.length} more`), h('ol', { class: 'timeline' }, later.map(line))),
    missing.length > 0 &&
      h(
        'ul',
        { class: 'missing' },
        missing.slice(0, MISSING).map((text) => h('li', {}, readable(text))),
        unsaid > 0 ? h('li', {}, `and ${unsaid} more`) : '',
      ),
  ];
}
