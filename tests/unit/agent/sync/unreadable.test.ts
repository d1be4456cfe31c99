import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { describeChanges } from '../../../../agent/plan/summarize-plan.ts';
import { playUnreadable } from '../support/forced-modes.ts';
import { localSandbox } from '../support/local-sandbox.ts';

/** A sandbox with a file that was written, perhaps after a sync, and that only root could read. */
async function unreadable(t: TestContext, { isDelivered }: { isDelivered: boolean }) {
  const { repo, commit, sandbox, at } = await localSandbox(t, `unreadable-${isDelivered}`);
  const target = { repo, commit: await commit({ files: { a: '1', b: '1' } }) };
  if (isDelivered) await sandbox.sync(target);
  const file = at('a');
  writeFileSync(file, 'x');
  chmodSync(file, 0o222);
  t.after(playUnreadable(t));
  return { sandbox, target, commit, file };
}

suite('a file that the agent has no permission to read', () => {
  test('is drift if it was delivered, and is repaired', async (t) => {
    const { sandbox, target, file } = await unreadable(t, { isDelivered: true });
    const { changes } = await sandbox.inspect({ kind: 'drift' }, target);
    assert.deepEqual(
      changes.map(({ path: name, reason, leftOut }) => [name, reason, leftOut]),
      [['a', 'Drifted', 'unreadable']],
    );
    const reported = await sandbox.sync({ ...target, profile: { drift: 'report' } });
    assert.deepEqual(reported.plan.drift, [{ path: 'a', reason: 'Drifted', isRepaired: false }]);
    const { plan } = await sandbox.sync(target);
    assert.deepEqual(plan.drift, [{ path: 'a', reason: 'Drifted', isRepaired: true }]);
    assert.deepEqual([await sandbox.files(), statSync(file).mode & 0o777], [{ a: '1', b: '1' }, 0o644]);
  });

  test('is taken over if it was not delivered, and kept with its mode, or named in an error', async (t) => {
    const { sandbox, target, commit, file } = await unreadable(t, { isDelivered: false });
    await assert.rejects(sandbox.sync({ ...target, profile: { onConflict: 'refuse' } }), {
      code: 'sync.PathConflict',
      message: /^a .*\(onConflict: refuse\)/,
    });
    const { plan } = await sandbox.sync(target);
    assert.deepEqual(describeChanges(plan, 9).sort(), ['add b (New)', 'modify a (TakenOver)']);
    assert.deepEqual(await sandbox.files(), { a: '1', b: '1' });
    await sandbox.sync({ ...target, commit: await commit({ files: { a: null } }) });
    assert.deepEqual(await sandbox.files(), { b: '1' });
    const kept = path.join(path.dirname(file), '.sync-agent/taken-over/a.kept');
    assert.equal(statSync(kept).mode & 0o777, 0o222);
    chmodSync(kept, 0o644);
    assert.equal(readFileSync(kept, 'utf8'), 'x');
  });
});
