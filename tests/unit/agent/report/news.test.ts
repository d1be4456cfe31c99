import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
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
  ref: 'main',
  commit: 'a'.repeat(40),
  profile,
  verify: 'none',
  submodules: false,
  reload: reloadSettings({ gateway: undefined }),
};

const file = { path: 'a', source: 'a', blob: '', executable: false, template: false };
const added: Change = { kind: 'add', path: 'a', reason: 'New', file };

function planOf(changes: Change[] = []): Plan {
  const folders = { create: [], clear: [], prune: [] };
  return { changes, folders, unchanged: 2, corrected: [], disowned: [] };
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
    assert.deepEqual(only?.figures, {});
    assert.equal(only?.log?.level, 'info');
  });

  test('a dry run says what it would do', () => {
    const [only] = tell(done([], { outcome: { kind: 'planned', plan: planOf([added]) } }));
    assert.equal(only?.report?.state, 'DryRun');
    assert.deepEqual(only?.report?.changes, ['add a (New)']);
    assert.equal(only?.figures.inLine, undefined);
  });
});
