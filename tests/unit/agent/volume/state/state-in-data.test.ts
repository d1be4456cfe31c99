import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { DataRoot } from '../../../../../agent/volume/state/data-root.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

test('a gateway starts only if the directory that has to be moved records a whole sync', async (t) => {
  const volume = await temporaryDirectory(t, 'volume-');
  const own = path.join(volume, 'www/.sync-agent');
  mkdirSync(own, { recursive: true });
  const { state } = await DataRoot.open(volume, { data: 'www', state: 'state' });
  assert.throws(() => state.check(), { code: 'data.stateElsewhere' });
  writeFileSync(path.join(own, 'manifest.jsonl'), '');
  assert.throws(() => state.check(), { code: 'data.stateInData' });
  writeFileSync(path.join(own, 'journal.jsonl'), '');
  assert.throws(() => state.check(), { code: 'data.stateElsewhere' });
});
