import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Drift } from '../../../../agent/plan/drift.ts';
import type { Change, Plan } from '../../../../agent/plan/plan-changes.ts';
import { type Happening, type News, NOTHING_SAID, news } from '../../../../agent/report/news.ts';
import { type Intent, reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { resolveProfile } from '../../../../shared/domain/resolve-profile.ts';
import { TerminalError, WaitingError } from '../../../../shared/errors.ts';

const mapping = { source: '.', destination: '.', required: true, template: false };
const profile = resolveProfile({ profiles: { default: { mappings: [mapping] } } }, 'default');
assert.ok(profile);
const intent: Intent = {
  generation: 1,
  repo: 'https://git.test/x',
  ignoresHostKey: false,
  ref: 'main',
  commit: 'a'.repeat(40),
  profile,
  verify: 'none',
  submodules: false,
  reload: reloadSettings({ gateway: undefined }),
};

const file = { path: 'a', source: 'a', blob: '', executable: false, template: false };
const added: Change = { kind: 'add', path: 'a', reason: 'New', file };

function planOf(changes: Change[] = [], drift: Drift[] = [], isPartial = false): Plan {
  const folders = { create: [], clear: [], prune: [] };
  return { changes, folders, unchanged: 2, corrected: [], disowned: [], dropped: [], drift, isPartial };
}

const done = (changes: Change[], more: Partial<Extract<Happening, { kind: 'done' }>> = {}): Happening => ({
  kind: 'done',
  intent,
  outcome: { kind: 'synced', plan: planOf(changes) },
  durationMs: 10,
  problem: undefined,
  ...more,
});
const failed = (error: unknown): Happening => ({ kind: 'failed', intent, error, durationMs: 10 });
const problem = { message: 'it is down', isWaiting: true, error: new Error('down') };

/** What is said of one happening after the other. */
function tell(...happenings: Happening[]): News[] {
  let said = NOTHING_SAID;
  return happenings.map((happening) => {
    const told = news(said, happening);
    said = told.said;
    return told;
  });
}

suite('news', () => {
  test('a check that found nothing to do is no news, and no sync to be counted', () => {
    const [first, second] = tell(done([added]), done([]));
    assert.equal(first?.report?.state, 'Synced');
    assert.equal(first?.figures.sync?.result, 'success');
    assert.equal(second?.report, undefined);
    assert.equal(second?.figures.sync, undefined);
    assert.equal(second?.log?.level, 'debug');
    assert.ok(second?.figures.inLine, 'the files are known to be in line');
  });

  test('the same commit that had to be put right again is news', () => {
    const [, , repaired] = tell(done([added]), done([]), done([added]));
    assert.equal(repaired?.report?.files?.added, 1);
    assert.equal(repaired?.log?.level, 'info');
  });

  test('a gateway that was not notified is an obstacle, and what changed is said when it was', () => {
    const [first, , last] = tell(done([added], { problem }), done([], { problem }), done([]));
    assert.equal(first?.report?.state, 'Pending');
    assert.match(first?.report?.message ?? '', /are in place, and the gateway is still to be told: it is down/);
    assert.equal(last?.report?.state, 'Synced');
    assert.equal(last?.report?.files?.added, 1);
  });

  test('a failure is counted each time and reported once', () => {
    const error = new TerminalError('no', { code: 'x', reason: 'X' });
    const [first, second] = tell(failed(error), failed(error));
    assert.deepEqual(first?.report, { state: 'Error', message: 'no', generation: 1 });
    assert.equal(second?.report, undefined);
    assert.deepEqual([first?.figures.sync?.result, second?.figures.sync?.result], ['error', 'error']);
    assert.equal(second?.log?.level, 'warn');
  });

  test('waiting is no failure', () => {
    const [only] = tell(failed(new WaitingError('later', { code: 'x', reason: 'X', retryAfterMs: 1 })));
    assert.equal(only?.report?.state, 'Pending');
    assert.deepEqual(only?.figures, { syncPeriod: 0 });
    assert.equal(only?.log?.level, 'info');
  });

  test('files that are left as somebody else made them are named, until a look finds them right', () => {
    const drift: Drift[] = [{ path: 'config/a', reason: 'Drifted', isRepaired: false }];
    const withDrift = (found: Drift[], isPartial = false) =>
      done([], { outcome: { kind: 'synced', plan: planOf([], found, isPartial) } });
    const [first, again, partial, right] = tell(withDrift(drift), withDrift(drift), withDrift([], true), withDrift([]));
    assert.equal(first?.report?.state, 'Synced');
    assert.match(first?.report?.message ?? '', /^the gateway rewrites config\/a: repaired 3 times in a row/);
    assert.deepEqual(first?.report?.changes, ['differs config/a (Drifted)']);
    assert.equal(first?.figures.inLine?.drifted, 1);
    assert.equal(again?.report, undefined);
    assert.equal(partial?.report, undefined, 'a look at some files says nothing of the others');
    assert.equal(partial?.figures.inLine?.drifted, 1);
    assert.equal(right?.report?.message, undefined);
    assert.equal(right?.figures.inLine?.drifted, 0);
  });

  test('how often the files are checked is told, and 0 while they need not be in line', () => {
    const error = new TerminalError('no', { code: 'x', reason: 'X' });
    const dry = { ...intent, profile: { ...intent.profile, dryRun: true } };
    const planned = { kind: 'planned' as const, plan: planOf([added]) };
    const idle = (state: 'Paused' | 'Pending'): Happening => ({ kind: 'idle', finding: { state, message: '' } });
    const periods = tell(
      done([added]),
      failed(error),
      done([], { intent: dry, outcome: planned }),
      { kind: 'failed', intent: dry, error, durationMs: 10 },
      idle('Paused'),
      idle('Pending'),
    ).map(({ figures }) => figures.syncPeriod);
    assert.deepEqual(periods, [30, 30, 0, 0, 0, undefined]);
  });

  test('the list of what differs is bounded', () => {
    const drift = Array.from(
      { length: 500 },
      (_, n): Drift => ({ path: `${n}`, reason: 'Missing', isRepaired: false }),
    );
    const reporting = { ...intent, profile: { ...intent.profile, drift: 'report' as const } };
    const outcome = { kind: 'synced' as const, plan: planOf([], drift) };
    const [only] = tell(done([], { intent: reporting, outcome }));
    assert.equal(
      only?.report?.message,
      '500 files differ from what was delivered (drift: report): 0, 1, 2, 3, 4 and 495 more',
    );
    assert.equal(only?.report?.changes?.length, 100);
  });

  test('a dry run says what it would do', () => {
    const [only] = tell(done([], { outcome: { kind: 'planned', plan: planOf([added]) } }));
    assert.equal(only?.report?.state, 'DryRun');
    assert.deepEqual(only?.report?.changes, ['add a (New)']);
    assert.equal(only?.figures.inLine, undefined);
  });
});
