import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { requestIn } from '../../shared/domain/kubernetes/recorded-request.ts';
import { type Access, connect, placeOf } from '../client/connect.ts';
import { readPatiently } from '../client/patience.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, readDetails } from '../client/read.ts';
import { accessArgs, checkRef, makeCommand, parseTimeout } from '../command-support/command.ts';
import { say, yesArg } from '../command-support/confirm.ts';
import { requestSync } from '../command-support/request-sync.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { resourceView } from '../fleet/fleet.ts';
import { type Asked, barsIn, judgeProgress, missingIn, type Progress } from '../fleet/sync-progress.ts';
import { drawLegend, drawWaves } from '../terminal/bars.ts';
import type { Host } from '../terminal/host.ts';
import { inkFor } from '../terminal/ink.ts';
import { Screen } from '../terminal/screen.ts';
import { cut, plain } from '../terminal/text.ts';

const POLL_MS = 300;
/** Minimum time between reads of reports and pods (ms), which are read only after the resource has changed. */
const DETAILS_MS = 1_000;
/** Time until a failed agent is considered stuck (ms), because agents retry. */
const STUCK_MS = 15_000;
/** Maximum gateways in an error. */
const NAMED = 10;

/** `kubectl stoker sync`: requests a sync as a webhook would. */
export const sync = makeCommand({
  name: 'sync',
  summary: 'Request a sync, or a different ref',
  details: [
    'Sets the same annotations as a webhook, such as sync.io/requested-ref. Without --ref, the followed ref is resolved again at once, only for this resource. With --ref, the gateways of this resource, and of those with its name in spec.webhook.from, follow this ref until a newer request or an edit of spec.git.ref replaces it; spec.webhook.allowedRefs restricts the refs that can be requested. With spec.git.semver, the controller looks for the newest tag in the range, and any other ref is ignored.',
    'If a request for a different ref is still open, the command shows it and asks for confirmation before it replaces this request.',
    'A resource with spec.webhook.from handles the requests for another one, so the command refuses it, and shows the name of that one. --request works for both.',
    'With --request, requests nothing, and waits for the request with this ID (requestId in the response of the receiver). A push to a branch and an ignored delivery have no request to wait for. Exits with 1 if the request was ignored, failed, or was replaced. Requires only permission to read GatewaySyncs.',
    'With --wait, shows the progress until all gateways have the commit. Exits with 1 if a gateway fails, with its name and the reason. Approval, windows, and soak still apply: set --timeout accordingly.',
    'Without --request, requires permission to patch GatewaySyncs, which the role edit includes.',
  ],
  examples: [
    { line: 'sync plant -n gateways --wait', does: 'Sync now, and wait for all gateways' },
    { line: 'sync plant --ref v1.4.0 --wait --timeout 1h', does: 'Roll out a tag in waves' },
    { line: 'sync plant --wait --request 1b4e28ba-…', does: 'Wait for the request of a webhook' },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    ref: {
      type: 'string',
      valueHint: 'R',
      description: 'Tag, branch, or full commit hash. Default: the followed ref.',
    },
    request: { type: 'string', valueHint: 'ID', description: 'For --wait: the request to wait for.' },
    wait: { type: 'boolean', alias: 'w', description: 'Wait until all gateways have the commit.' },
    timeout: { type: 'string', valueHint: 'TIME', default: '5m', description: 'Maximum time for --wait. Default: 5m.' },
    ...yesArg,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const timeoutMs = parseTimeout(args);
    checkRef(args);
    if (args.request !== undefined && (!args.wait || args.ref !== undefined))
      throw new Problem('--request needs --wait, and excludes --ref', 'InvalidArguments');
    const access = connect(args, host);
    if (args.request !== undefined) {
      const asked = openRequestOf(await getRequested(access, args.name), args.request);
      return await waitForAll(access, { name: args.name, asked, host, timeoutMs });
    }
    const asked = await requestSync(access, { name: args.name, wanted: args.ref, yes: args.yes, host });
    if (!asked) return EXIT.failed;
    say(`requested ${asked.ref} (${placeOf(access)})`, host);
    if (!args.wait) return EXIT.ok;
    return await waitForAll(access, { name: args.name, asked, host, timeoutMs });
  },
});

/** A GatewaySync, and the one whose requests it handles, if there is one. */
type Requested = [GatewaySync, hub?: GatewaySync];

/** Throws `Problem`. */
async function getRequested(access: Access, name: string): Promise<Requested> {
  const gatewaySync = await getGatewaySync(access, name);
  const { from } = gatewaySync.spec.webhook;
  return from === undefined ? [gatewaySync] : [gatewaySync, await getGatewaySync(access, from)];
}

/** The newest request of a resource, which must have this ID. Throws `Problem`. */
function openRequestOf([gatewaySync, hub = gatewaySync]: Requested, id: string): Asked {
  const { name } = gatewaySync.metadata;
  const { annotations = {} } = hub.metadata;
  const { ref = '', at = '' } = requestIn(annotations) ?? {};
  if (annotations[REQUEST_ANNOTATIONS.requestId] !== id)
    throw new Problem(
      `${name} has no request ${id}: a newer one replaced it, or the delivery was ignored or a push to a branch, which have none to wait for; see kubectl stoker trace ${name} --last`,
      'Replaced',
    );
  return { id, ref, at, isRefresh: false };
}

interface Waiting {
  name: string;
  asked: Asked;
  host: Host;
  timeoutMs: number;
}

async function waitForAll(access: Access, { name, asked, host, timeoutMs }: Waiting): Promise<ExitStatus> {
  const screen = new Screen(host);
  const ink = inkFor(host.hasColours);
  const started = performance.now();
  let stuckSince: number | undefined;
  let known: Known | undefined;
  for (;;) {
    const [gatewaySync, hub] = await readPatiently(started + timeoutMs, () => getRequested(access, name));
    const progress = judgeProgress(gatewaySync, asked, hub);
    if (isDue(known, gatewaySync, progress)) {
      const { resourceVersion } = gatewaySync.metadata;
      const details = await readPatiently(started + timeoutMs, () => readDetails(access, access.namespace));
      known = { details, resourceVersion, at: performance.now() };
    }
    const view = resourceView(gatewaySync, known.details);
    const columns = host.columns;
    const says = plain(progress.says);
    const bars = drawWaves(barsIn(view), { columns, ink });
    const seconds = `${Math.round((performance.now() - started) / 1000)} s`;
    screen.show(
      [...bars, '', ...drawLegend(ink, columns), ink('dim', cut(`${seconds}  ${says}`, columns ?? says.length + 9))],
      says,
    );
    stuckSince = progress.stuck ? (stuckSince ?? performance.now()) : undefined;
    const isStuck = stuckSince !== undefined && performance.now() - stuckSince > STUCK_MS;
    if (progress.kind === 'done') return end(progress, host);
    if (progress.kind === 'failed') throw new Problem(`${progress.says}${listed(missingIn(view))}`, 'SyncFailed');
    if (isStuck) throw new Problem(`some gateways failed${listed(progress.stuck ?? [])}`, 'SyncFailed');
    if (performance.now() - started > timeoutMs)
      throw new Problem(`timed out: ${progress.says}${listed(missingIn(view))}`, 'TimedOut');
    await sleep(POLL_MS);
  }
}

/** Reports and pods with the time of the read. */
interface Known {
  details: Beyond;
  resourceVersion: string | undefined;
  at: number;
}

/** Checks whether to read reports and pods again. The final output needs current data. */
function isDue(known: Known | undefined, { metadata }: GatewaySync, { kind }: Progress): known is undefined {
  if (!known) return true;
  const isOld = kind !== 'waiting' || performance.now() - known.at >= DETAILS_MS;
  return isOld && known.resourceVersion !== metadata.resourceVersion;
}

function end({ says }: Progress, host: Host): ExitStatus {
  host.note(`${inkFor(host.hasColours)('green', '✔')} ${plain(says)}\n`);
  return EXIT.ok;
}

function listed(names: readonly string[]): string {
  const more = names.length > NAMED ? `; and ${names.length - NAMED} more` : '';
  return names.length > 0 ? `; ${names.slice(0, NAMED).join('; ')}${more}` : '';
}
