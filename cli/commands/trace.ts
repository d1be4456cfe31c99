import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { type Access, connect } from '../client/connect.ts';
import { readPatiently } from '../client/patience.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, listEvents, readDetails } from '../client/read.ts';
import { accessArgs, formatOf, makeCommand, outputArgs, parseTimeout } from '../command-support/command.ts';
import { lastDelivery, type TraceView, traceView } from '../fleet/trace.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { inkFor } from '../terminal/ink.ts';
import { linesOf } from '../terminal/text.ts';
import { drawTimeline } from '../terminal/timeline.ts';

/** Maximum lines about gateways at the beginning, and at the end. */
const SHOWN = 200;
const POLL_MS = 300;
/** Delay of events after the status (ms). */
const EVENTS_MS = 1_000;

/** `kubectl stoker trace`: shows one delivery from the webhook to each disk. */
export const trace = makeCommand({
  name: 'trace',
  summary: 'Show the timeline of a delivery, from the webhook to every disk',
  details: [
    'Waits for the next webhook, request, or poll with a new commit, and until all gateways have it. Then it shows the time of each step in milliseconds. With --last, it shows the last delivery without waiting.',
    'Every program records times with its own clock, so if clocks differ, steps are too long or missing. The steps of the controller come from its events. The timeline is limited to the content of the status, reports, and events: events are kept for an hour, and a newer commit replaces an older one.',
  ],
  examples: [
    { line: 'trace plant -n gateways', does: 'Wait for a delivery; then push, or send a webhook' },
    { line: 'trace plant --last', does: 'Show the last delivery' },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    last: { type: 'boolean', description: 'Show the last delivery without waiting.' },
    timeout: { type: 'string', valueHint: 'TIME', default: '5m', description: 'Maximum time to wait. Default: 5m.' },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const timeoutMs = parseTimeout(args);
    const access = connect(args, host);
    if (!args.last) await untilNext(access, args.name, { timeoutMs, host });
    const gatewaySync = await getGatewaySync(access, args.name);
    const events = await listEvents(access, gatewaySync);
    const view = traceView(gatewaySync, events, await readDetails(access, access.namespace));
    if (!view) throw new Problem(`no delivery yet: see kubectl stoker status ${args.name}`, 'NothingToShow');
    host.print(format ? drawData(view, format) : `${drawTrace(view, host).join('\n')}\n`);
    return EXIT.ok;
  },
});

/** Waits for a new delivery until all gateways have it or one has failed. Throws `Problem`. */
async function untilNext(
  access: Access,
  name: string,
  { timeoutMs, host }: { timeoutMs: number; host: Host },
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  const before = markOf(await getGatewaySync(access, name));
  host.note('waiting for the next delivery\n');
  for (;;) {
    const gatewaySync = await readPatiently(deadline, () => getGatewaySync(access, name));
    if (markOf(gatewaySync) !== before && isSettled(gatewaySync)) return await sleep(EVENTS_MS);
    if (performance.now() > deadline) {
      if (markOf(gatewaySync) !== before) return;
      throw new Problem('no delivery in that time: use kubectl stoker trace --last for the previous one', 'TimedOut');
    }
    await sleep(POLL_MS);
  }
}

const markOf = (gatewaySync: GatewaySync): string =>
  JSON.stringify([lastDelivery(gatewaySync)?.at, gatewaySync.status?.lastSyncCommit]);

function isSettled({ metadata, status }: GatewaySync): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return status?.observedGeneration === metadata.generation && ready !== undefined && ready.status !== 'Unknown';
}

/** Draws a delivery: a heading, a line for each step, and the missing data. */
function drawTrace({ namespace, name, delivery, followed, moments, missing }: TraceView, host: Host): string[] {
  const ink = inkFor(host.hasColours);
  const { columns } = host;
  const id = delivery.id ? `, request ${delivery.id}` : '';
  const range = followed?.tag === delivery.ref ? ` (newest in ${followed.range})` : '';
  const head = `${namespace}/${name}: ${delivery.ref}${range} at ${delivery.at}${id}`;
  const timeline = drawTimeline(
    moments.map(({ what, ms }) => ({ what, atMs: ms })),
    { columns, ink },
  );
  const gaps = withoutMiddle(missing).flatMap((text) => linesOf(text, columns));
  return [...linesOf(head, columns), ...withoutMiddle(timeline), ...gaps.map((line) => ink('dim', line))];
}

/** Keeps the first and the last lines. */
function withoutMiddle(lines: readonly string[]): readonly string[] {
  const hidden = lines.length - 2 * SHOWN;
  if (hidden <= 0) return lines;
  return [...lines.slice(0, SHOWN), `… ${hidden} more lines: --output json has all`, ...lines.slice(-SHOWN)];
}
