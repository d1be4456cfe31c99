import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import type { RolloutGateway, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { currentWave, isBack, isSkipped, type Standing, standingOf } from './standing.ts';

/** Adds to a state what people read of it: counts, a few words, and one sentence. */
export function describe({ rollout, history }: RolloutState, wait: Wait, input: RolloutInput): RolloutState {
  const standing = standingOf(rollout, input.gateways);
  const counts = countsOf(rollout, standing);
  const { message: _, ...rest } = { ...rollout, ...counts };
  const message = messageOf(rest, wait, { standing, input }).slice(0, BOUNDS.message).toWellFormed();
  const summary = summaryOf(rest, { standing, input });
  return { history, rollout: { ...rest, summary, ...(message && { message }) } };
}

interface Context {
  standing: Standing;
  input: RolloutInput;
}

/** When all is done the counts stay as they were, so that nothing has to be written while pods come and go. */
function countsOf(rollout: RolloutStatus, { counted, admitted, verified }: Standing) {
  const { phase, failures = [], total } = rollout;
  if ((phase === 'Complete' || phase === 'RolledBack') && total > 0) return {};
  const isBackwards = phase === 'RollingBack' || phase === 'RolledBack';
  const well = isBackwards ? counted.filter((gateway) => isBack(gateway, rollout)).length : verified.size;
  return {
    total: counted.length,
    admitted: isBackwards ? 0 : admitted.length,
    verified: well,
    failed: failures.length,
  };
}

function summaryOf(rollout: RolloutStatus, { standing, input }: Context): string {
  const { phase, wave, verified, total, nextCommit } = rollout;
  const next = nextCommit ? `; ${short(nextCommit)} waits` : '';
  const index = currentWave(rollout);
  const members = standing.membersOf(index);
  const where = `${wave} ${members.filter((gateway) => standing.verified.has(gateway)).length}/${members.length}`;
  switch (phase) {
    case 'Complete':
      return `complete${next}`;
    case 'RolledBack':
      return `rolled back${next}`;
    case 'RollingBack':
      return `rolling back ${verified}/${total}`;
    case 'Stopped':
      return `stopped in ${where}${next}`;
    case 'Soaking':
      return `${where}, soaking ${formatDuration(input.soakMs[index] ?? 0)}${next}`;
    case 'AwaitingApproval':
      return `${where}, waiting for approval${next}`;
    case 'AwaitingWindow':
      return `${where}, waiting for a window${next}`;
    case 'Progressing':
      return `${where}${next}`;
  }
}

const short = (commit: string): string => commit.slice(0, 8);

function messageOf(rollout: RolloutStatus, wait: Wait, context: Context): string {
  const { phase, wave, commit, stableCommit, nextCommit, failures = [], failed } = rollout;
  const { input } = context;
  const failing = named(failures, failed);
  if (wait.kind === 'outdated')
    return `nobody is admitted: the agents of ${named(wait.pods, wait.pods.length)} do not know rollouts, and follow the newest commit: recreate these pods, so that they get the agent of this version`;
  if (nextCommit !== undefined) {
    if (wait.kind === 'givenUp')
      return `commit ${nextCommit} failed or was taken back, and is not tried again until somebody sets sync.io/retry-rollout: ${nextCommit}, or another commit comes`;
    const reason = wait.kind === 'window' ? input.window.message : approvalOf(nextCommit);
    return `commit ${nextCommit} waits: ${reason}`;
  }
  switch (phase) {
    case 'Complete':
      return `every gateway may have commit ${commit}`;
    case 'Stopped':
      return `commit ${commit} failed on ${failing} in the wave ${wave}: no further gateway gets it until somebody sets sync.io/rollback or sync.io/retry-rollout, or a newer commit comes`;
    case 'RollingBack':
      return `all gateways go back to commit ${stableCommit}${failed > 0 ? `, since ${commit} failed on ${failing}` : ''}: waiting for ${waitedFor(rollout, context)}`;
    case 'RolledBack':
      return `${backOf(rollout)} back on commit ${stableCommit}${failed > 0 ? `, since ${commit} failed on ${failing}` : ''}: ${short(commit)} is not tried again until somebody sets sync.io/retry-rollout, or a newer commit comes`;
    case 'Soaking':
      return `the wave ${wave} is verified, and soaks since ${rollout.soakStartedAt}${skippedIn(rollout, context)}`;
    case 'AwaitingApproval':
      return `the wave ${wave} waits: ${approvalOf(commit)}`;
    case 'AwaitingWindow':
      return `the wave ${wave} waits: ${input.window.message}`;
    case 'Progressing':
      return `the wave ${wave} waits for ${waitedFor(rollout, context)}, since ${rollout.admittedAt ?? rollout.startedAt}${skippedIn(rollout, context)}`;
  }
}

const approvalOf = (commit: string): string =>
  `somebody has to approve it: set the annotation sync.io/approve: ${commit}`;

const backOf = ({ verified, total }: RolloutStatus): string =>
  verified < total ? `${verified} of ${total} gateways are` : 'the gateways are';

/** Those that nobody waits for, since they were not ready before. */
function skippedIn(rollout: RolloutStatus, { standing }: Context): string {
  const skipped = standing
    .membersOf(currentWave(rollout))
    .filter((gateway) => isSkipped(gateway, rollout.startedAt) && !standing.verified.has(gateway))
    .map(({ name }) => name)
    .sort();
  return skipped.length > 0 ? `; skipped, since not ready before: ${named(skipped, skipped.length)}` : '';
}

function waitedFor(rollout: RolloutStatus, { standing }: Context): string {
  const { phase, failures = [] } = rollout;
  const isOpen = (gateway: RolloutGateway) => !standing.verified.has(gateway) && !failures.includes(gateway.name);
  const names =
    phase === 'RollingBack'
      ? standing.counted.filter((gateway) => !isBack(gateway, rollout))
      : standing.membersOf(currentWave(rollout)).filter((each) => isOpen(each) && !isSkipped(each, rollout.startedAt));
  return named(names.map(({ name }) => name).sort(), names.length) || 'nobody';
}

function named(names: readonly string[], total: number): string {
  const more = total > 3 ? ` and ${total - 3} more` : '';
  return `${names.slice(0, 3).join(', ')}${more}`;
}
