import { BOUNDS } from '../../shared/api/bounds.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import type { Verification } from '../gateway/verification.ts';
import { type Drift, MAX_REPAIRS } from '../plan/drift.ts';
import { almostFull, type TakenOverExtent } from '../plan/overflow.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { hasGap, linkChanges } from '../plan/publication.ts';
import { describeChange, describeChanges } from '../plan/summarize-plan.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { describeFailure, stateAfter } from './describe-failure.ts';
import type { Finding } from './reports.ts';
import type { SyncOutcome } from './sync-outcome.ts';

/** Returns the report of a completed sync. `drift` lists the files that differ and aren't repaired. */
export function describeSync(outcome: SyncOutcome<'synced' | 'planned'>, drift: readonly Drift[]): Finding {
  return outcome.kind === 'planned' ? plannedFinding(outcome) : syncedFinding(outcome, drift);
}

function plannedFinding(outcome: SyncOutcome<'synced' | 'planned'>): Finding {
  const { intent, plan, ignored, ignoresModes = false, takenOver } = outcome;
  const { commit, ref } = intent;
  const count = plan.changes.length + linkChanges(plan).length;
  const planned = `dry run: ${count} changes would deliver commit ${commit} (${ref})`;
  const notes = [gaps(plan), ignoredAttributes(ignored), ignoresModes && IGNORED_MODES, ...keptFiles(takenOver)];
  const message = [planned, ...notes].filter(Boolean).join('; ');
  return { state: 'DryRun', message, changes: describeChanges(plan, BOUNDS.changes) };
}

/** Returns the message about destinations that are missing while a link replaces a directory, or the other way round. */
function gaps({ publications }: Plan): string | undefined {
  const paths = publications.filter(hasGap).map(({ path }) => path);
  if (paths.length === 0) return undefined;
  return `missing for a moment, because publish changes or a directory is taken over: ${firstOf(paths)}`;
}

function syncedFinding(outcome: SyncOutcome<'synced' | 'planned'>, drift: readonly Drift[]): Finding {
  const { intent, reloadError, notes = [], ignored, ignoresModes = false, takenOver, pointers, lockWeakness } = outcome;
  const failure = reloadError ? describeFailure(reloadError) : undefined;
  const messages = [
    failure &&
      `files of commit ${intent.commit} (${intent.ref}) delivered; gateway not notified yet: ${failure.message}`,
    describeDrift(drift, intent),
    ...(failure ? [] : notes),
    ignoredAttributes(ignored),
    ignoresModes && IGNORED_MODES,
    plainPointers(pointers),
    lockWeakness && `the data volume is not locked (${lockWeakness}): make sure that no other pod syncs to it`,
    ...keptFiles(takenOver), // last, because long messages are cut off
  ].filter(Boolean);
  const changes = drift
    .slice(0, BOUNDS.changes)
    .map(({ path, reason }) => describeChange({ kind: 'differs', path, reason }));
  const finding: Finding = failure ? { state: stateAfter(failure), reason: failure.reason } : { state: 'Synced' };
  if (messages.length > 0) finding.message = messages.join('; ');
  if (changes.length > 0) finding.changes = changes;
  return finding;
}

function describeDrift(drift: readonly Drift[], { profile }: Intent): string | undefined {
  if (drift.length === 0) return undefined;
  const names = firstOf(drift.map(({ path }) => path));
  return profile.drift === 'report'
    ? `${drift.length} files differ from the delivered ones (drift: report): ${names}`
    : `the gateway rewrites ${names}: repaired ${MAX_REPAIRS} consecutive times, and not again until the commit or the spec changes`;
}

/** Returns the message about a gateway that isn't healthy. */
export function describeVerification({ commit, ref }: Intent, { state, words }: Verification): string | undefined {
  if (!words) return undefined;
  if (state === 'Failed') return `gateway unhealthy on commit ${commit} (${ref}): ${words}`;
  return `verification of commit ${commit} (${ref}) in progress; last check failed: ${words}`;
}

function ignoredAttributes(ignored: ReadonlyMap<string, string> = new Map()): string | undefined {
  if (ignored.size === 0) return undefined;
  const files = [...ignored].map(([file, attributes]) => `${file} (${attributes})`);
  return `.gitattributes has no effect, so these files may differ from a checkout: ${firstOf(files)}`;
}

const IGNORED_MODES =
  "mode in a mapping has no effect, because the data volume doesn't keep the permissions of files: use another kind of volume, or a mount option";

/** If the repository's .gitattributes were lost, the gateway needs the content instead. */
function plainPointers(pointers: string[] = []): string | undefined {
  if (pointers.length === 0) return undefined;
  return `files look like Git LFS pointers, but no .gitattributes sets filter=lfs, so they were delivered unchanged: ${firstOf(pointers)}`;
}

/** Characters of a listed path: five of them leave room for other messages. */
const LISTED = 100;

function keptFiles(takenOver?: TakenOverExtent): (string | undefined)[] {
  if (!takenOver || takenOver.names.length === 0) return [];
  const { path, names } = takenOver;
  const listed = firstOf(names.map((name) => oneLine(name, LISTED)));
  return [almostFull(takenOver), `files of other programs are kept in ${path}: ${listed}`];
}

function firstOf(names: string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${names.slice(0, 5).join(', ')}${more}`;
}
