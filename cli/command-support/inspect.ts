import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { type Answer, INSPECTION } from '../../shared/api/inspection.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { type Access, connect } from '../client/connect.ts';
import { askAgents } from '../client/inspect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, readDetails, readPodStates } from '../client/read.ts';
import type { Beyond } from '../fleet/beyond.ts';
import {
  type Askable,
  askableGateways,
  type Chosen,
  chooseGateways,
  type InspectionView,
  SharedAnswers,
} from '../fleet/inspection.ts';
import type { Host } from '../terminal/host.ts';
import { type ArgsDef, accessArgs, type ParsedArgs } from './command.ts';
import { say } from './confirm.ts';

/** Options of commands that query agents. */
export const inspectArgs = {
  gateway: { type: 'string', valueHint: 'G', description: 'Name of a gateway or of its pod.' },
  all: {
    type: 'boolean',
    description: `Query all gateways. Default: all if there are at most ${INSPECTION.pods}, otherwise one per profile and wave.`,
  },
  timeout: {
    type: 'string',
    valueHint: 'TIME',
    default: '1m',
    description: 'Maximum time to wait for responses. Default: 1m.',
  },
  ...accessArgs,
} as const satisfies ArgsDef;

type InspectArgs = Partial<ParsedArgs<typeof inspectArgs>> & { name: string; timeout: string };

/** Query about a resource. */
export type Asked = { kind: 'drift'; withNew?: boolean } | { kind: 'diff'; ref: string; commit?: string | undefined };

/** Responses to a query: a view to print, and the full content for patches. */
export interface Inspected {
  access: Access;
  gatewaySync: GatewaySync;
  details: Beyond;
  /** All known gateways. */
  gateways: readonly Askable[];
  view: InspectionView;
  answers: { name: string; answer: Answer }[];
}

const LONGEST_MS = 240_000;

/** Returns the maximum wait (ms). Throws `Problem`. */
export function timeoutOf({ timeout }: Pick<InspectArgs, 'timeout'>): number {
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs !== undefined && timeoutMs <= LONGEST_MS) return timeoutMs;
  throw new Problem('--timeout must be a duration of at most 4m, such as 30s', 'InvalidArguments');
}

/** Queries the agents of gateways in batches; all gateways if there are at most `few`. Throws `Problem`. */
export async function inspect(
  args: InspectArgs,
  { host, ask, few = INSPECTION.pods }: { host: Host; ask: (gatewaySync: GatewaySync) => Asked; few?: number },
): Promise<Inspected> {
  const timeoutMs = timeoutOf(args);
  const access = connect(args, host);
  const gatewaySync = await getGatewaySync(access, args.name);
  const asked = ask(gatewaySync);
  const details = await readDetails(access, access.namespace);
  if (!details.reports)
    throw new Problem(
      `not allowed to list SyncReports in the namespace ${access.namespace}: request the role view there`,
      'Forbidden',
    );
  const pods = (await readPodStates(access, access.namespace)) ?? [];
  const agentPods = new Map(pods.map((pod) => [pod.name, pod]));
  const all = askableGateways(gatewaySync, details, agentPods);
  const isAll = args.all || all.length <= few;
  const chosen = chooseGateways(all, { gateway: args.gateway, isAll });
  check(chosen, { args, all, host });
  const found = await askInBatches(access, { name: args.name, asked, gateways: chosen.gateways, timeoutMs, host });
  const { namespace, name } = gatewaySync.metadata;
  const { kind } = asked;
  const view = { namespace, name, kind, ...(kind === 'diff' && { ref: asked.ref }), total: all.length };
  return { access, gatewaySync, details, gateways: all, view: { ...view, ...found.parts }, answers: found.answers };
}

/** Prints the gateways that didn't respond, with the reason. */
export function nameSilent({ silent }: InspectionView, host: Host): void {
  for (const { gateway, why } of silent) say(`${gateway}: ${why}`, host);
}

/** Returns the exit status: a missing response takes precedence over differences. */
export function inspectionStatus({ answers, silent }: InspectionView): ExitStatus {
  if (answers.length === 0 || silent.length > 0 || answers.some(({ problem }) => problem)) return EXIT.failed;
  return answers.some(({ changes, more }) => changes.length + more > 0) ? EXIT.differs : EXIT.ok;
}

function check(
  { gateways, isSample }: Chosen,
  { args, all, host }: { args: InspectArgs; all: readonly Askable[]; host: Host },
): void {
  if (all.length === 0)
    throw new Problem(`${args.name} has no gateways: annotate a pod with sync.io/inject: "true"`, 'NotFound');
  if (gateways.length === 0)
    throw new Problem(
      `${args.name} has no gateway ${args.gateway}: list them with kubectl stoker status ${args.name}`,
      'NotFound',
    );
  if (isSample)
    say(
      `querying ${gateways.length} of ${all.length} gateways, one per profile and wave; use --gateway for another one, or --all`,
      host,
    );
}

interface Batches {
  name: string;
  asked: Asked;
  gateways: readonly Askable[];
  timeoutMs: number;
  host: Host;
}

/** Queries gateways in batches, to limit the size of the responses on the API server. */
async function askInBatches(access: Access, { name, asked, gateways, timeoutMs, host }: Batches) {
  const parts: Pick<InspectionView, 'answers' | 'silent'> = { answers: [], silent: [] };
  const answers: Inspected['answers'] = [];
  const shared = new SharedAnswers();
  const able = gateways.filter(({ unable }) => !unable);
  const onBusy = () => say('waiting for the query of another user to finish', host);
  for (let start = 0; start < able.length; start += INSPECTION.pods) {
    const batch = able.slice(start, start + INSPECTION.pods);
    const pods = batch.map(({ pod }) => pod);
    const answered = await askAgents(access, { name, question: { ...asked, pods }, timeoutMs, onBusy });
    for (const gateway of batch) {
      const answer = answered.get(gateway.pod);
      if (answer && answer !== 'unreadable') {
        const { view, answer: one } = shared.take(gateway, answer);
        parts.answers.push(view);
        answers.push({ name: gateway.name, answer: one });
      } else parts.silent.push({ gateway: gateway.name, pod: gateway.pod, why: whySilent(gateway, answer) });
    }
  }
  for (const { name: gateway, pod, unable } of gateways) {
    if (unable) parts.silent.push({ gateway, pod, why: unable });
  }
  return { parts, answers };
}

function whySilent({ status, waitsFor }: Askable, answer: 'unreadable' | undefined): string {
  if (answer) return 'its response is unreadable: check that kubectl stoker and the agent have the same version';
  const busy = 'no response in time: its agent may be busy with a sync, or stopped';
  return `${busy} (${status}${waitsFor ? `: ${waitsFor}` : ''})`;
}
