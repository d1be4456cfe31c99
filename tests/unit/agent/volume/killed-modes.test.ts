import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { describeKill, everyKill, runKilled, startNext } from '../support/kill-at.ts';
import { localAgents } from '../support/local-sandbox.ts';
import { mappingOf, ownContents } from '../support/tree-files.ts';

const FILES = { 'keys/id': 'key', 'keys/empty': '' };

for (const hasLinks of [true, false]) {
  test(`a kill while only modes change leaves whole files, ${hasLinks ? 'with' : 'without'} hard links`, async (t) => {
    const { targetOf, createAgent } = await localAgents(t);
    const target = await targetOf(FILES);
    const targetWith = (mode: string) => ({ ...target, profile: { mappings: [mappingOf('keys', 'keys', { mode })] } });
    await everyKill(t, { atLeast: 12, atMost: 200 }, async (kill) => {
      const sandbox = await createAgent();
      const modes = () => Object.keys(FILES).map((file) => statSync(path.join(sandbox.data, file)).mode & 0o777);
      await sandbox.sync(targetWith('0600'));
      const played = await runKilled(sandbox.data, kill, () => sandbox.sync(targetWith('0440')), { hasLinks });
      const what = describeKill(kill, played);
      if (played.met) await startNext(sandbox);
      await sandbox.sync(targetWith('0440'));
      assert.deepEqual(await sandbox.files(), Object.fromEntries(Object.entries(FILES).sort()), what);
      assert.deepEqual([modes(), ownContents(sandbox, 'taken-over')], [[0o440, 0o440], []], what);
      const { plan } = await sandbox.sync(targetWith('0440'));
      assert.deepEqual([plan.changes, plan.corrected], [[], []], what);
      return played;
    });
  });
}
