import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { type Access, type AccessOptions, connect } from '../client/connect.ts';
import { readPatiently } from '../client/patience.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, readDetails } from '../client/read.ts';
import { checkRef, makeCommand } from '../command-support/command.ts';
import { say } from '../command-support/confirm.ts';
import { inspect, inspectArgs, timeoutOf } from '../command-support/inspect.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { addressOf } from '../fleet/names.ts';
import { emptyPlan, planOfPreview } from '../fleet/plan.ts';
import { isReplaced, isWaitOver, plannableCommit } from '../fleet/plan-candidate.ts';
import { planOfAnswers } from '../fleet/plan-of-answers.ts';
import { withoutValues } from '../fleet/plan-paths.ts';
import type { PlanView } from '../fleet/plan-view.ts';
import { verdictOf } from '../fleet/plan-words.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { drawPlan } from '../views/draw-plan.ts';
import { drawPlanMarkdown } from '../views/plan-markdown.ts';
import { askedFor } from './diff.ts';

const FORMATS = ['text', 'json', 'markdown'] as const;
const LOOK_MS = 500;

/** `kubectl stoker plan`: shows the changes of a release for the whole fleet. */
export const plan = makeCommand({
  name: 'plan',
  summary: 'Show which gateways a commit would change, and in which files',
  details: [
    'Shows what the gateways report about the newest commit before a rollout delivers it: groups of gateways with identical changes, the files, and the gateways to which it cannot be delivered, for each wave. Gateways that have not reported count as changed. Requires spec.rollout. With --commit, waits until the gateways have previewed this commit, unless they already have it or had it.',
    'With --ref, queries the agents of one gateway per profile and wave for the changes of this ref, as the command diff does. They fetch it and render its templates, so do not use it for a ref that you do not trust.',
    'Markdown output contains paths and counts, but no names of gateways, no error messages, and no values of labels or variables, so that you can publish it.',
    'Exits with 0 if nothing would change, and with 2 if files would change, or a gateway has not reported or is skipped. Exits with 1 if the commit cannot be delivered to a gateway, its rollout stopped, or it has no plan, and if the one in --commit was rolled back, was replaced by a newer one, or was not previewed in time.',
    'Requires permission to get and list GatewaySyncs and SyncReports. To show waves with a selector, permission to list pods is required as well. The role view includes all of these. With --ref, requires permission to patch GatewaySyncs, which the role edit includes.',
  ],
  examples: [
    { line: 'plan plant -n gateways', does: 'Show the plan of the newest commit before you approve it' },
    {
      line: 'plan plant --commit 3f2a91bc64d07c1f9f5b1e8a0c52d9b7e6a1f430 --output markdown',
      does: 'In a CI job after a merge, wait for the plan of this commit',
    },
    { line: 'plan plant --ref feature/pumps', does: 'Show what a branch would change' },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    commit: { type: 'string', valueHint: 'C', description: 'Full commit hash. Wait until it has been previewed.' },
    ref: { type: 'string', valueHint: 'R', description: 'Tag, branch, or full commit hash to query the agents for.' },
    output: {
      type: 'string',
      alias: 'o',
      valueHint: FORMATS.join('|'),
      description: 'Format of the output. Default: text.',
    },
    ...inspectArgs,
    all: { type: 'boolean', description: 'With --ref, query all gateways. Default: one per profile and wave.' },
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const { output = 'text', ref, commit, gateway, all } = args;
    const format = FORMATS.find((each) => each === output);
    const wrong = (message: string) => new Problem(message, 'InvalidArguments');
    if (!format) throw wrong(`--output must be ${FORMATS.join(', ')}, not ${output}`);
    if (ref === undefined && (gateway !== undefined || all)) throw wrong('--gateway and --all require --ref');
    checkRef(args);
    if (ref !== undefined && commit !== undefined) throw wrong('--ref and --commit are mutually exclusive');
    if (commit !== undefined && !isCommitHash(commit))
      throw wrong('--commit must be a full commit hash of 40 or 64 characters');
    const { view, gatewaySync, details, isLate } = await (ref === undefined
      ? planCandidate(args, host)
      : planRef(args, host));
    if (format === 'json') host.print(drawData(view, 'json'));
    else if (format === 'text') host.print(`${drawPlan(view, host).join('\n')}\n`);
    else host.print(drawPlanMarkdown(withoutValues(view, gatewaySync, details)));
    return isLate ? EXIT.failed : STATUSES[verdictOf(view)];
  },
});

const STATUSES = { nothing: EXIT.ok, changes: EXIT.differs, fails: EXIT.failed } as const;

interface PlanArgs extends AccessOptions {
  name: string;
  commit?: string | undefined;
  ref?: string | undefined;
  gateway?: string | undefined;
  all?: boolean | undefined;
  timeout: string;
}

interface PlanOf {
  view: PlanView;
  gatewaySync: GatewaySync;
  details: Beyond;
  /** The specified commit wasn't previewed in time. */
  isLate?: boolean;
}

/** Plans the release that the agents preview, from their reports. Throws `Problem`. */
async function planCandidate(args: PlanArgs, host: Host): Promise<PlanOf> {
  const deadline = performance.now() + timeoutOf(args);
  const access = connect(args, host);
  const gatewaySync = await untilPreviewed(access, { ...args, deadline });
  const candidate = plannableCommit(gatewaySync, args.commit);
  if (candidate.kind === 'unavailable' || candidate.kind === 'pending')
    throw new Problem(`${addressOf(gatewaySync)} has no plan: ${candidate.says}`, 'NothingToShow');
  if (candidate.kind === 'settled') return { view: emptyPlan(gatewaySync, candidate), gatewaySync, details: {} };
  const details = await readPatiently(deadline, () => readDetails(access, access.namespace));
  const view = planOfPreview(gatewaySync, candidate.preview, details);
  explainGaps(view, { gatewaySync, details, host });
  const isLate = args.commit !== undefined && !isWaitOver(gatewaySync, args.commit);
  return { view, gatewaySync, details, isLate };
}

/** Waits until all gateways have previewed a commit. Throws `Problem` if it is replaced, or not in time. */
async function untilPreviewed(
  access: Access,
  { name, commit, deadline }: { name: string; commit?: string | undefined; deadline: number },
): Promise<GatewaySync> {
  let before: GatewaySync | undefined;
  for (;;) {
    const gatewaySync = await readPatiently(deadline, (timeoutMs) => getGatewaySync(access, name, timeoutMs));
    if (commit === undefined || isWaitOver(gatewaySync, commit)) return gatewaySync;
    const newest = gatewaySync.status?.lastSyncCommit ?? 'unknown';
    if (before && isReplaced(commit, before, gatewaySync))
      throw new Problem(
        `a newer commit of ${addressOf(gatewaySync)} replaced ${commit} before it was previewed; the newest commit is ${newest}`,
        'Replaced',
      );
    before = gatewaySync;
    if (performance.now() < deadline) {
      await sleep(LOOK_MS);
      continue;
    }
    if (gatewaySync.status?.rollout?.preview?.commit === commit) return gatewaySync;
    throw new Problem(
      `timed out: the gateways of ${addressOf(gatewaySync)} have not previewed ${commit}; the newest commit is ${newest}`,
      'TimedOut',
    );
  }
}

/** Prints the reasons for missing data. */
function explainGaps(
  { waves }: PlanView,
  { gatewaySync, details, host }: { gatewaySync: GatewaySync; details: Beyond; host: Host },
): void {
  const { reported = 0, total = 0, startedAt = '' } = gatewaySync.status?.rollout?.preview ?? {};
  const where = `in the namespace ${gatewaySync.metadata.namespace}`;
  if (!details.reports)
    say(
      `not allowed to list SyncReports ${where}: only the counts in the status are shown; request the role view`,
      host,
    );
  else if (!waves && !details.pods)
    say(`not allowed to list pods ${where}, so the waves of the gateways are unknown`, host);
  if (reported < total) say(`${reported} of ${total} gateways have reported since ${startedAt}`, host);
}

/** Plans a ref by querying the agents. Throws `Problem`. */
async function planRef(args: PlanArgs, host: Host): Promise<PlanOf> {
  const ask = (gatewaySync: GatewaySync) => askedFor(gatewaySync, args.ref);
  const { view, gateways, gatewaySync, details } = await inspect(args, { host, ask, few: 0 });
  const waves = gatewaySync.status?.rollout?.admission.map(({ wave }) => wave) ?? [];
  return { view: planOfAnswers(view, { gateways, waves }), gatewaySync, details };
}
