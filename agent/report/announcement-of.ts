import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { SyncResult } from '../metrics.ts';
import type { Drift } from '../plan/drift.ts';
import { countDrift, countFiles, type FileCounts } from '../plan/summarize-plan.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { describeFailure, stateAfter } from './describe-failure.ts';
import { describeSync, describeVerification } from './describe-sync.ts';
import type { Finding } from './reports.ts';
import type { SyncOutcome } from './sync-outcome.ts';

/** Content of the last report. */
interface Memory {
  /** Distinguishes findings. */
  key: string;
  /** Health of the gateway, as text. */
  verification?: string | undefined;
  /** Without the health of the gateway. */
  finding?: Finding | undefined;
  /** Changes before the gateway was notified: the report still shows them afterwards. */
  unnotified?: Pick<Finding, 'files' | 'durationMs'> | undefined;
  /** Files that differ and are left unchanged, by the last check of all files. */
  drift: readonly Drift[];
}

export const NOTHING_REPORTED: Memory = { key: '', drift: [] };

interface Announcement {
  memory: Memory;
  /** Undefined if the last report shows the same. */
  report: Finding | undefined;
  /** Undefined if it isn't worth a line. */
  log: { level: 'debug' | 'info' | 'warn'; message: string; fields: object } | undefined;
  figures: {
    sync?: { result: SyncResult; seconds: number };
    inLine?: { files: FileCounts; repaired: number; drifted: number };
    /** In seconds; 0 if the files aren't checked. */
    syncPeriod?: number;
  };
}

/** Compares an outcome with the last report, and returns the differences. */
export function announcementOf(memory: Memory, outcome: SyncOutcome): Announcement {
  if (outcome.kind === 'failed') return announceFailure(memory, outcome);
  if (outcome.kind === 'verified') return { ...addVerification(memory, outcome), log: undefined, figures: {} };
  if (outcome.kind !== 'idle') return announceSync(memory, outcome);
  const { finding } = outcome;
  const { isNews: _, ...announced } = compare(memory, finding);
  return { ...announced, log: undefined, figures: finding.state === 'Paused' ? { syncPeriod: 0 } : {} };
}

/** A check that found nothing to do isn't reported or counted as a sync. */
function announceSync(memory: Memory, outcome: SyncOutcome<'synced' | 'planned'>): Announcement {
  const { kind, intent, plan, durationMs = 0, reloadError } = outcome;
  const files = countFiles(plan);
  const isChange = kind === 'synced' && plan.changes.length > 0;
  const shown = (!isChange && memory.unnotified) || { files, durationMs };
  const drift = plan.isPartial ? memory.drift : plan.drift.filter(({ isRepaired }) => !isRepaired);
  const before = { ...memory, key: isChange ? '' : memory.key, unnotified: reloadError ? shown : undefined, drift };
  const { isNews, ...announced } = compare(before, { ...describeSync(outcome, drift), ...shown }, outcome);
  const result = kind === 'planned' ? ('dry_run' as const) : ('success' as const);
  const figures: Announcement['figures'] = { syncPeriod: checkPeriod(intent) };
  if (isNews) figures.sync = { result, seconds: durationMs / 1000 };
  if (kind === 'synced') figures.inLine = { files, repaired: countDrift(plan), drifted: drift.length };
  return {
    ...announced,
    log: {
      level: isNews ? 'info' : 'debug',
      message: 'sync finished',
      fields: { ...logFields(intent), files, durationMs, result: kind },
    },
    figures,
  };
}

function announceFailure(memory: Memory, outcome: SyncOutcome<'failed'>): Announcement {
  const { intent, error, durationMs = 0 } = outcome;
  const failure = describeFailure(error);
  const { message, code, reason, isWaiting, isFinal } = failure;
  const finding: Finding = { state: stateAfter(failure), reason, message };
  if (isFinal && intent.rollout !== undefined) finding.hasFailed = true;
  const { isNews, ...announced } = compare(memory, finding, outcome);
  const fields = { ...logFields(intent), durationMs, code, err: error, result: isWaiting ? 'waiting' : 'error' };
  if (isWaiting) {
    const level = isNews ? ('info' as const) : ('debug' as const);
    return { ...announced, log: { level, message: 'sync held back', fields }, figures: { syncPeriod: 0 } };
  }
  return {
    ...announced,
    log: { level: 'warn', message: 'sync failed', fields },
    figures: { sync: { result: 'error', seconds: durationMs / 1000 }, syncPeriod: checkPeriod(intent) },
  };
}

/** Returns the fields of an intent for a log line. */
export const logFields = ({ ref, commit, profile }: Intent) => ({ ref, commit, profile: profile.name });

/** A dry run reads the files but doesn't change them. */
const checkPeriod = ({ profile }: Intent): number => (profile.dryRun ? 0 : profile.syncPeriod);

type About = Partial<Pick<SyncOutcome<'verified'>, 'intent' | 'verification'>>;

/** Ignores repeated findings; a different duration or number of right files isn't a change. */
function compare(memory: Memory, finding: Finding, about: About = {}) {
  const { intent } = about;
  const { state, reason, message, changes, generation = intent?.generation } = finding;
  const key = JSON.stringify([state, reason, message, changes, generation, intent]);
  const isNews = key !== memory.key;
  const numbers = withoutUndefined({ generation, rollout: intent?.rollout });
  const latest = isNews ? { ...memory, key, finding: { ...finding, ...numbers } } : memory;
  return { isNews, ...addVerification(latest, about, isNews) };
}

/** Returns the last finding about the files with the current health of the gateway. */
function addVerification(
  memory: Memory,
  { intent, verification }: About,
  isNews = false,
): Pick<Announcement, 'memory' | 'report'> {
  const { finding } = memory;
  const latest = { ...memory, verification: JSON.stringify(verification) };
  if (!isNews && latest.verification === memory.verification) return { memory: latest, report: undefined };
  if (!finding || !intent || !verification) return { memory: latest, report: finding };
  const message = [finding.message, describeVerification(intent, verification)].filter(Boolean).join('; ');
  const report: Finding = { ...finding, verification: verification.state };
  if (message) report.message = message;
  return { memory: latest, report };
}
