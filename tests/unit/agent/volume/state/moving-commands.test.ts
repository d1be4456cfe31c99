import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stateInData } from '../../../../../agent/volume/state/state-errors.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** Runs the commands in the message in a volume, and returns their exit status. */
function move(cwd: string, data: string, place: string): number | null {
  const usual = path.join(data, '.sync-agent');
  const { message } = stateInData({ data, usual, place, isComplete: true });
  return spawnSync('sh', ['-ec', message.slice(message.indexOf(': test ') + 2)], { cwd }).status;
}

for (const [data, place] of [
  ['www', 'private/sync'],
  ['', 'state'],
  ['-a b', "-c/it's $(x)"],
  ['!', '(/-'],
] as const) {
  test(`the commands move the files of ${data || 'the root'} to ${place}`, async (t) => {
    const volume = await temporaryDirectory(t, 'volume-');
    const at = (...names: string[]) => path.join(volume, ...names);
    mkdirSync(at(data, '.sync-agent/trees/a'), { recursive: true });
    mkdirSync(at(data, 'inner/.sync-agent/trees/b'), { recursive: true });
    symlinkSync('.sync-agent/trees/a', at(data, 'site'));
    symlinkSync('.sync-agent/trees/b', at(data, 'inner/site'));
    assert.equal(move(volume, data, place), 0);
    assert.equal(readlinkSync(at(place, 'data-root')), `data-root=${data || '.'}`);
    assert.equal(readlinkSync(at(data, '.sync-agent')), `sync.io/state-directory=${place}`);
    assert.ok(existsSync(at(data, 'site')));
    assert.equal(readlinkSync(at(data, 'inner/site')), '.sync-agent/trees/b', 'a link of other data');
  });
}

test('the commands change nothing if the gateway has put a link there', async (t) => {
  const volume = await temporaryDirectory(t, 'volume-');
  const at = (name: string) => path.join(volume, name);
  mkdirSync(at('www/.sync-agent'), { recursive: true });
  mkdirSync(at('other'));
  symlinkSync('data-root=www2', at('other/data-root'));
  symlinkSync('../other', at('www/pages'));
  assert.notEqual(move(volume, 'www', 'www/pages/state'), 0);
  assert.ok(lstatSync(at('www/.sync-agent')).isDirectory());
  renameSync(at('www/.sync-agent'), at('www/old'));
  symlinkSync('../other', at('www/.sync-agent'));
  assert.notEqual(move(volume, 'www', 'state'), 0);
  assert.equal(readlinkSync(at('other/data-root')), 'data-root=www2');
});
