import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Verification } from '../../../../agent/gateway/verification.ts';
import type { Drift } from '../../../../agent/plan/drift.ts';
import type { Change, Plan } from '../../../../agent/plan/plan-changes.ts';
import { announcementOf, NOTHING_REPORTED } from '../../../../agent/report/announcement-of.ts';
import type { SyncOutcome } from '../../../../agent/report/sync-outcome.ts';
import { TerminalError, TransientError, WaitingError } from '../../../../shared/errors.ts';
import { codedError } from '../../../support/coded-error.ts';
import { intentOf } from '../../../support/intents.ts';
import { emptyPlan } from '../support/memory-volume.ts';

const intent = intentOf();

const file = { path: 'a', source: 'a', blob: '', executable: false, template: false };
const added: Change = { kind: 'add', path: 'a', reason: 'New', file };

const planOf = (changes: Change[] = [], drift: Drift[] = [], isPartial = false): Plan => ({
  ...emptyPlan(),
  changes,
  drift,
  isPartial,
  unchanged: 2,
});

const synced = (changes: Change[], more: Partial<SyncOutcome<'synced' | 'planned'>> = {}): SyncOutcome => ({
  kind: 'synced',
  intent,
  plan: planOf(changes),
  durationMs: 10,
  ...more,
});
const failed = (error: unknown, failedIntent = intent): SyncOutcome => ({
  kind: 'failed',
  intent: failedIntent,
  error,
  durationMs: 10,
});
const reloadError = new WaitingError('it is down', { code: 'x', reason: 'Waiting', retryAfterMs: 1 });

type Announcement = ReturnType<typeof announcementOf>;

/** Returns the announcements of outcomes in sequence. */
function announce(...outcomes: SyncOutcome[]): Announcement[] {
  let memory = NOTHING_REPORTED;
  return outcomes.map((outcome) => {
    const announced = announcementOf(memory, outcome);
    memory = announced.memory;
    return announced;
  });
}

suite('announcementOf', () => {
  test("ignores a check that found nothing to do, and doesn't count it as a sync, but a repair", () => {
    const [first, second, repaired] = announce(synced([added]), synced([]), synced([added]));
    assert.equal(first?.report?.state, 'Synced');
    assert.equal(first?.figures.sync?.result, 'success');
    assert.equal(second?.report, undefined);
    assert.equal(second?.figures.sync, undefined);
    assert.equal(second?.log?.level, 'debug');
    assert.ok(second?.figures.inLine, 'the files are known to be in line');
    assert.deepEqual([repaired?.report?.files?.added, repaired?.log?.level], [1, 'info']);
  });

  test('reports an unnotified gateway as an obstacle, and the changes once it is notified', () => {
    const [first, , last] = announce(synced([added], { reloadError }), synced([], { reloadError }), synced([]));
    assert.equal(first?.report?.state, 'Pending');
    assert.match(first?.report?.message ?? '', /: it is down$/);
    assert.equal(last?.report?.state, 'Synced');
    assert.equal(last?.report?.files?.added, 1);
  });

  test('names files that differ from a checkout while they do, and the state stays Synced', () => {
    const names = ['a.bat', 'b.bat', 'c.bat', 'd.bat', 'e.bat', 'f.bat', 'g.bat'];
    const ignored = new Map(names.map((name) => [name, 'eol=crlf']));
    const outcome = { plan: planOf(), ignored, pointers: ['docs/p'] };
    const [first, second, third] = announce(synced([], outcome), synced([], outcome), synced([]));
    assert.equal(first?.report?.state, 'Synced');
    assert.match(first?.report?.message ?? '', /: a\.bat \(eol=crlf\), .*e\.bat \(eol=crlf\) and 2 more; /);
    assert.match(first?.report?.message ?? '', /: docs\/p$/);
    assert.equal(second?.report, undefined);
    assert.deepEqual([third?.report?.state, third?.report?.message], ['Synced', undefined]);
    const [planned] = announce(synced([], { ...outcome, kind: 'planned' }));
    assert.equal(planned?.report?.state, 'DryRun');
    assert.match(planned?.report?.message ?? '', /; \.gitattributes /);
  });

  test('names kept files of others, and how to clean up when their directory is almost full', () => {
    const names = Array.from('abcdef', (name) => `${name.repeat(300)}.kept`);
    const takenOver = { path: '.sync-agent/taken-over', entries: 7_999, bytes: 1, names };
    const full = { ...takenOver, entries: 8_000 };
    const announced = announce(
      synced([], { takenOver: { ...takenOver, names: [] } }),
      synced([], { takenOver }),
      synced([], { takenOver: full, lockWeakness: 'no locks', notes: ['all projects'] }),
      synced([], { takenOver: full, kind: 'planned' }),
    );
    const [none, named, warned, planned] = announced.map(({ report }) => report?.message);
    assert.equal(none, undefined);
    assert.match(named ?? '', /^[^;]{0,650} \.sync-agent\/taken-over: a+…, .*, e+… and 1 more$/);
    assert.match(warned ?? '', /^all projects; .* \(no locks\).*; .*: rm -r \.sync-agent\/taken-over; .*: a+…, /);
    assert.match(planned ?? '', /: rm -r \.sync-agent\/taken-over; .*: a+…, /);
  });

  test("doesn't count waiting as a failure", () => {
    const later = failed(new WaitingError('later', { code: 'x', reason: 'Waiting', retryAfterMs: 1 }));
    const [first, again] = announce(later, later);
    assert.equal(first?.report?.state, 'Pending');
    assert.deepEqual(first?.figures, { syncPeriod: 0 });
    assert.deepEqual([first?.log?.level, again?.log?.level, again?.report], ['info', 'debug', undefined]);
  });

  test('names files that stay as another program wrote them, until a check finds them right', () => {
    const drift: Drift[] = [{ path: 'config/a', reason: 'Drifted', isRepaired: false }];
    const withDrift = (found: Drift[], isPartial = false) => synced([], { plan: planOf([], found, isPartial) });
    const [first, again, partial, right] = announce(
      withDrift(drift),
      withDrift(drift),
      withDrift([], true),
      withDrift([]),
    );
    assert.equal(first?.report?.state, 'Synced');
    assert.match(first?.report?.message ?? '', / config\/a: .* 3 /);
    assert.deepEqual(first?.report?.changes, ['differs config/a (Drifted)']);
    assert.equal(first?.figures.inLine?.drifted, 1);
    assert.equal(again?.report, undefined);
    assert.equal(partial?.report, undefined, 'a look at some files says nothing of the others');
    assert.equal(partial?.figures.inLine?.drifted, 1);
    assert.equal(right?.report?.message, undefined);
    assert.equal(right?.figures.inLine?.drifted, 0);
  });

  test('reports how often files are checked, and 0 while drift is allowed', () => {
    const error = new TerminalError('no', { code: 'x', reason: 'Waiting' });
    const dry = { ...intent, profile: { ...intent.profile, dryRun: true } };
    const planned = { kind: 'planned' as const, plan: planOf([added]) };
    const idle = (state: 'Paused' | 'Pending'): SyncOutcome => ({ kind: 'idle', finding: { state, message: '' } });
    const periods = announce(
      synced([added]),
      failed(error),
      synced([], { intent: dry, ...planned }),
      { kind: 'failed', intent: dry, error, durationMs: 10 },
      idle('Paused'),
      idle('Pending'),
    ).map(({ figures }) => figures.syncPeriod);
    assert.deepEqual(periods, [30, 30, 0, 0, 0, undefined]);
  });

  test('limits the list of differences', () => {
    const drift = Array.from(
      { length: 500 },
      (_, n): Drift => ({ path: `${n}`, reason: 'Missing', isRepaired: false }),
    );
    const reporting = { ...intent, profile: { ...intent.profile, drift: 'report' as const } };
    const plan = planOf([], drift);
    const [only] = announce(synced([], { intent: reporting, plan }));
    assert.match(only?.report?.message ?? '', /^500 .*: 0, 1, 2, 3, 4 and 495 more$/);
    assert.equal(only?.report?.changes?.length, 100);
  });

  test("changes only the part about verification when the gateway's health changes", () => {
    const verified = (verification: Verification): SyncOutcome => ({ kind: 'verified', intent, verification });
    const words = 'it answered 503';
    const [running, same, wrong, check, failed, still] = announce(
      synced([added], { verification: { state: 'Running' } }),
      verified({ state: 'Running' }),
      verified({ state: 'Running', words }),
      synced([], { verification: { state: 'Running', words } }),
      synced([], { verification: { state: 'Failed', words } }),
      verified({ state: 'Failed', words }),
    );
    assert.deepEqual([running?.report?.verification, running?.report?.message], ['Running', undefined]);
    assert.deepEqual([same?.report, check?.report, still?.report], [undefined, undefined, undefined]);
    assert.match(wrong?.report?.message ?? '', / a+ \(main\) .*: it answered 503$/);
    assert.match(failed?.report?.message ?? '', / a+ \(main\): it answered 503$/);
    assert.deepEqual([failed?.report?.state, failed?.report?.files?.added], ['Synced', 1], 'as it was said before');
    assert.equal(failed?.figures.sync, undefined, 'a check that found nothing to do is no sync');
  });

  test("puts the gateway's message after that of the files, and drops it with the verification", () => {
    const drift: Drift[] = [{ path: 'config/a', reason: 'Drifted', isRepaired: false }];
    const plan = planOf([], drift);
    const failed = { state: 'Failed' as const, words: 'it answered 503' };
    const idle: SyncOutcome = { kind: 'idle', finding: { state: 'Paused', message: 'paused' } };
    const [both, paused, before] = announce(synced([], { plan, verification: failed }), idle, synced([], { plan }));
    assert.match(both?.report?.message ?? '', / config\/a: .*; .*: it answered 503$/);
    assert.deepEqual(paused?.report, { state: 'Paused', message: 'paused' });
    assert.equal(before?.report && 'verification' in before.report, false);
  });

  const final = new TerminalError('no', { code: 'x', reason: 'Waiting' });
  const failures: [name: string, rollout: number | undefined, error: unknown, hasFailed: boolean | undefined][] = [
    ['for good in a rollout', 3, final, true],
    ['for good without one', undefined, final, undefined],
    ['for now', 3, new TransientError('no', { code: 'x', reason: 'Waiting' }), undefined],
    [
      'until something else happens',
      3,
      new WaitingError('no', { code: 'x', reason: 'Waiting', retryAfterMs: 1 }),
      undefined,
    ],
    ['since the volume is full', 3, codedError('ENOSPC', 'full'), undefined],
    ['since the volume is read-only', 3, codedError('EROFS', 'no'), true],
  ];
  for (const [name, rollout, error, hasFailed] of failures) {
    test(`${hasFailed ? 'counts' : "doesn't count"} a sync that failed ${name} as failed`, () => {
      const rolledOut = { ...intent, ...(rollout !== undefined && { rollout }) };
      const [only] = announce({ kind: 'failed', intent: rolledOut, error, durationMs: 10 });
      assert.deepEqual([only?.report?.hasFailed, only?.report?.rollout], [hasFailed, rollout]);
    });
  }

  test('contains the number of the rollout, and reports a new number', () => {
    const syncedIn = (rollout: number) => synced([], { intent: { ...intent, rollout } });
    const [first, same, next] = announce(syncedIn(1), syncedIn(1), syncedIn(2));
    assert.deepEqual([first?.report?.rollout, same?.report, next?.report?.rollout], [1, undefined, 2]);
  });

  test('lists the changes of a dry run', () => {
    const [only] = announce(synced([], { kind: 'planned', plan: planOf([added]) }));
    assert.equal(only?.report?.state, 'DryRun');
    assert.deepEqual(only?.report?.changes, ['add a (New)']);
    assert.match(only?.report?.message ?? '', / 1 .* a+ /);
    assert.deepEqual(only?.figures, { sync: { result: 'dry_run', seconds: 0.01 }, syncPeriod: 30 });
  });
});

test('repaired files and those that stay different are counted', () => {
  const drift: Drift[] = [
    { path: 'b', reason: 'Drifted', isRepaired: true },
    { path: 'c', reason: 'Missing', isRepaired: false },
  ];
  const [only] = announce(synced([], { plan: planOf([added], drift) }));
  const { repaired, drifted } = only?.figures.inLine ?? {};
  assert.deepEqual([repaired, drifted, only?.report?.changes], [1, 1, ['differs c (Missing)']]);
});

suite('an announcement is complete for', () => {
  const { commit, ref, profile } = intent;
  const what = { ref, commit, profile: profile.name };
  const counts = { added: 1, modified: 0, deleted: 0, unchanged: 2 };
  const drift: Drift[] = [
    { path: 'b', reason: 'Drifted', isRepaired: true },
    { path: 'c', reason: 'Missing', isRepaired: false },
  ];
  const terminal = new TerminalError('no', { code: 'x.y', reason: 'Waiting' });
  const inRollout = { ...intent, rollout: 7 };

  const cases: [what: string, outcome: SyncOutcome, expected: Omit<Announcement, 'memory'>][] = [
    [
      'a sync',
      synced([added], { plan: planOf([added]) }),
      {
        report: { state: 'Synced', files: counts, durationMs: 10, generation: 1 },
        log: {
          level: 'info',
          message: 'sync finished',
          fields: { ...what, files: counts, durationMs: 10, result: 'synced' },
        },
        figures: {
          sync: { result: 'success', seconds: 0.01 },
          inLine: { files: counts, repaired: 0, drifted: 0 },
          syncPeriod: 30,
        },
      },
    ],
    [
      'a failure',
      failed(terminal, inRollout),
      {
        report: { state: 'Error', reason: 'Waiting', message: 'no', generation: 1, rollout: 7, hasFailed: true },
        log: {
          level: 'warn',
          message: 'sync failed',
          fields: { ...what, durationMs: 10, code: 'x.y', err: terminal, result: 'error' },
        },
        figures: { sync: { result: 'error', seconds: 0.01 }, syncPeriod: 30 },
      },
    ],
  ];
  for (const [name, outcome, expected] of cases) {
    test(`${name}, and repeats only what it counts`, () => {
      const [first, second] = announce(outcome, outcome) as [Announcement, Announcement];
      const { memory: _, ...reported } = first;
      assert.deepEqual(reported, expected);
      const isDone = outcome.kind === 'synced';
      assert.deepEqual(second.report, isDone ? first.report : undefined);
      if (!isDone) assert.deepEqual(second.figures, first.figures);
    });
  }

  test('a gateway still to be notified, and files that differ', () => {
    const plan = planOf([], drift.slice(1));
    const [only] = announce(synced([], { plan, reloadError: codedError('ECONNREFUSED') }));
    assert.deepEqual([only?.report?.state, only?.report?.reason], ['Error', 'UnexpectedError']);
    assert.match(only?.report?.message ?? '', /ECONNREFUSED.*; .* c: [^;]*$/);
  });
});
