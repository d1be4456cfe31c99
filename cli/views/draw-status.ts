import { basisWords } from '../fleet/basis.ts';
import type { FleetView, ResourceState, ResourceView } from '../fleet/fleet.ts';
import { byNeed, type GatewayView } from '../fleet/gateway.ts';
import { shortCommit, shortHashes } from '../fleet/messages.ts';
import { drawLegend, drawWaves } from '../terminal/bars.ts';
import type { Host } from '../terminal/host.ts';
import { type Colour, inkFor } from '../terminal/ink.ts';
import { type Cell, type Column, drawTable } from '../terminal/table.ts';
import { plain, wrap } from '../terminal/text.ts';
import { ageOf } from '../terminal/times.ts';

const STATES: Record<ResourceState, { glyph: string; colour: Colour }> = {
  ready: { glyph: '✔', colour: 'green' },
  busy: { glyph: '…', colour: 'yellow' },
  failed: { glyph: '✘', colour: 'red' },
  paused: { glyph: '‖', colour: 'cyan' },
  rolledBack: { glyph: '↩', colour: 'cyan' },
};

const GATEWAY_COLOURS: Record<GatewayView['status'], Colour> = {
  Synced: 'green',
  Pending: 'yellow',
  Skewed: 'yellow',
  Error: 'red',
  MissingSidecar: 'red',
  Paused: 'cyan',
  DryRun: 'cyan',
};

/** Maximum gateways per resource below the table. With a name, the command lists all. */
const NAMED = 5;

/** Draws all GatewaySyncs, then the gateways that aren't in sync. */
export function drawFleet(
  { items, totals }: FleetView,
  { host, isEverywhere }: { host: Host; isEverywhere: boolean },
): string[] {
  const { columns } = host;
  const ink = inkFor(host.hasColours);
  const table = drawTable(
    [
      { title: '' },
      { title: 'NAMESPACE' },
      { title: 'NAME' },
      { title: 'REF', dropped: 3 },
      { title: 'COMMIT', dropped: 2 },
      { title: 'GATEWAYS', dropped: 1 },
      { title: 'ROLLOUT', dropped: 4 },
      { title: 'MESSAGE', wraps: true },
    ],
    items.map((item) => [
      { text: STATES[item.state].glyph, colour: STATES[item.state].colour },
      isEverywhere ? item.namespace : '',
      item.name,
      item.ref && shortHashes(item.ref),
      shortCommit(item.backOn ?? item.keeps ?? item.commit ?? ''),
      `${item.counts.synced}/${item.counts.total}`,
      item.rollout?.summary,
      { text: shortHashes(item.says), colour: item.state === 'failed' ? 'red' : 'dim' },
    ]),
    { columns, ink },
  );
  const waiting = items.flatMap((item) =>
    gatewaysThatWait(item)
      .slice(0, NAMED)
      .map((gateway): Cell[] => [
        isEverywhere ? `${item.namespace}/${item.name}` : item.name,
        ...gatewayCells(gateway, host, { isBrief: true }),
      ]),
  );
  const more = drawTable([{ title: 'GATEWAYSYNC' }, ...gatewayColumns({ isBrief: true })], waiting, { columns, ink });
  return [
    ...table,
    ...(waiting.length > 0 ? ['', ...more] : []),
    '',
    ...drawTotals(totals, host),
    ...drawDenied(items, host),
  ];
}

/** Says that gateways are shown from the status alone, if the caller isn't allowed to list more. */
function drawDenied(items: readonly ResourceView[], host: Host): string[] {
  const denied = new Set(items.flatMap(({ basis }) => (basis.from === 'status' ? (basis.denied ?? []) : [])));
  if (denied.size === 0) return [];
  return drawNote(`gateways from the status alone; not allowed to list ${[...denied].join(' and ')}`, host);
}

function drawTotals({ resources, ready, gateways, synced }: FleetView['totals'], host: Host): string[] {
  return drawNote(`${ready} of ${resources} ready, ${synced} of ${gateways} gateways in sync`, host);
}

function drawNote(text: string, { columns, hasColours }: Host): string[] {
  const ink = inkFor(hasColours);
  return (columns ? wrap(text, columns) : [text]).map((line) => ink('dim', line));
}

/** Draws one GatewaySync with its waves and gateways. */
export function drawResource(item: ResourceView, host: Host): string[] {
  const { columns } = host;
  const ink = inkFor(host.hasColours);
  const { glyph, colour } = STATES[item.state];
  const facts: [string, string | undefined][] = [
    ['repository', item.repo],
    ['follows', followed(item)],
    ['commit', commitWords(item, host)],
    ['gateways', countsOf(item)],
    ['request', item.lastRequest && echoWords(item.lastRequest, host)],
    ['push', item.lastPush && echoWords(item.lastPush, host)],
    ['rollout', item.rollout && rolloutWords(item.rollout, item.says)],
    ['source', item.basis.total > 0 ? basisWords(item.basis) : undefined],
  ];
  // Minus the indentation.
  const inner = columns === undefined ? undefined : columns - 2;
  const room = (columns ?? Number.POSITIVE_INFINITY) - 13;
  const gateways = drawTable(
    gatewayColumns({ isBrief: false }),
    byNeed(item.gateways).map((gateway) => gatewayCells(gateway, host, { isBrief: false })),
    { columns, ink },
  );
  const { rollout } = item;
  const hidden = item.counts.total - item.gateways.length;
  return [
    ...lead(`${item.namespace}/${item.name}: ${shortHashes(item.says)}`, { glyph: ink(colour, glyph), columns }),
    ...facts.flatMap(([label, text]) =>
      text === undefined
        ? []
        : wrap(plain(text), Math.max(room, 20)).map(
            (line, index) => `  ${ink('dim', (index === 0 ? label : '').padEnd(10))} ${line}`,
          ),
    ),
    ...(rollout ? ['', ...drawWaves(rollout.waves, { columns: inner, ink }).map((line) => `  ${line}`)] : []),
    ...(rollout?.waves.some(({ gateways }) => gateways)
      ? ['', ...drawLegend(ink, inner).map((line) => `  ${line}`)]
      : []),
    ...(item.gateways.length > 0 ? ['', ...gateways] : []),
    ...(hidden > 0 ? drawNote(`and ${hidden} more, which the status counts but does not list`, host) : []),
  ];
}

/** Draws a headline after a glyph. */
export function lead(text: string, { glyph, columns }: { glyph: string; columns: number | undefined }): string[] {
  const [first = '', ...others] = columns ? wrap(plain(text), Math.max(columns - 2, 20)) : [plain(text)];
  return [`${glyph} ${first}`, ...others.map((line) => `  ${line}`)];
}

function commitWords({ commit, backOn, keeps, resolvedAt }: ResourceView, host: Host): string | undefined {
  const present = backOn ?? keeps;
  if (present && commit && present !== commit) return `${present}, instead of ${shortCommit(commit)}`;
  return commit && `${commit}${resolvedAt ? `, ${ageOf(resolvedAt, host.now())} ago` : ''}`;
}

function followed({ ref, range, source, unfollowed }: ResourceView): string | undefined {
  if (unfollowed) return `${ref}, unchanged: spec.git now names ${unfollowed.ref}, which ${fateOf(unfollowed)}`;
  if (range !== undefined) return `${ref}, the newest tag in ${range}`;
  const by = { Spec: 'set in spec.git.ref', Request: 'requested', Push: 'pushed' };
  return ref && (source ? `${ref}, ${by[source]}` : `${ref}, not resolved yet`);
}

function fateOf({ reason }: NonNullable<ResourceView['unfollowed']>): string {
  if (reason === undefined) return 'is not resolved yet';
  const isNotFound = ['RefNotFound', 'NoMatchingTag', 'NoVersionTag'].includes(reason);
  return isNotFound ? 'was not found' : `could not be resolved (${reason})`;
}

function countsOf({ counts }: ResourceView): string {
  const { total, synced, pending, skewed, error, missingSidecar, paused, dryRun } = counts;
  const others: [number, string][] = [
    [error, 'with an error'],
    [missingSidecar, 'without a sidecar'],
    [pending + skewed, 'in progress'],
    [paused, 'paused'],
    [dryRun, 'in a dry run'],
  ];
  const named = others.filter(([count]) => count > 0).map(([count, words]) => `, ${count} ${words}`);
  return `${synced} of ${total} in sync${named.join('')}`;
}

type Echo = NonNullable<ResourceView['lastRequest'] | ResourceView['lastPush']>;

function echoWords(echo: Echo, host: Host): string {
  const by = 'by' in echo && echo.by ? ` by ${echo.by}` : '';
  const age = ageOf(echo.at, host.now());
  const outcome = echo.outcome === 'Pending' ? 'still open' : echo.outcome.toLowerCase();
  const why = echo.message ? `, ${shortHashes(echo.message)}` : '';
  return `${echo.ref}${by}${age ? `, ${age} ago` : ''}: ${outcome}${why}`;
}

function rolloutWords({ release, summary, message }: NonNullable<ResourceView['rollout']>, says: string): string {
  const words = [release, summary].filter(Boolean).join(', ');
  return message && message !== says ? `${words}: ${shortHashes(message)}` : words;
}

const gatewaysThatWait = ({ gateways }: ResourceView): GatewayView[] =>
  byNeed(gateways).filter(({ status, waitsFor }) => status !== 'Synced' && waitsFor);

function gatewayColumns({ isBrief }: { isBrief: boolean }): Column[] {
  return [
    { title: 'GATEWAY' },
    { title: 'POD', dropped: 3 },
    ...(isBrief ? [] : [{ title: 'WAVE', dropped: 2 }]),
    { title: 'STATUS', dropped: 1 },
    { title: 'COMMIT', dropped: 3 },
    ...(isBrief
      ? []
      : [
          { title: 'SYNCED', dropped: 4 },
          { title: 'TOOK', dropped: 5 },
        ]),
    { title: 'WAITS FOR', wraps: true },
  ];
}

function gatewayCells(gateway: GatewayView, host: Host, { isBrief }: { isBrief: boolean }): Cell[] {
  const { name, pod, wave, status, commit, syncedAt, took, waitsFor } = gateway;
  const age = ageOf(syncedAt, host.now());
  return [
    name,
    pod === name ? '' : pod,
    ...(isBrief ? [] : [wave]),
    { text: status, colour: GATEWAY_COLOURS[status] },
    commit && shortCommit(commit),
    ...(isBrief ? [] : [age && `${age} ago`, took]),
    waitsFor && shortHashes(waitsFor),
  ];
}
