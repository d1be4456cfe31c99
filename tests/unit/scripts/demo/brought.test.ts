import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { mayBeUnderWay, nothingBrought } from '../../../../scripts/demo/brought.ts';

/** The fields of this process's mark, some of them replaced. */
function markWith(fields: { host?: string; space?: string; pid?: number }): string {
  const [host, space, pid, run] = nothingBrought().mark.split(' ');
  const own = { host, space, pid };
  return [...Object.values({ ...own, ...fields }), run].join(' ');
}

/** Id of a process that has ended. */
const deadPid = () => spawnSync(process.execPath, ['--version']).pid;

test('a run is over where its process would be seen from here, and is gone', () => {
  assert.equal(mayBeUnderWay(markWith({ pid: deadPid() })), false);
});

test('a run whose process is there may be under way', () => {
  assert.equal(mayBeUnderWay(markWith({})), true);
});

for (const elsewhere of [{ host: 'elsewhere' }, { space: 'another-container' }]) {
  test(`a run may be under way where process ids mean others: ${JSON.stringify(elsewhere)}`, () => {
    assert.equal(mayBeUnderWay(markWith({ ...elsewhere, pid: deadPid() })), true);
  });
}

test('a mark tells containers of one host name and of one machine apart', {
  skip: process.platform !== 'linux',
}, () => {
  assert.match(nothingBrought().mark, /^\S+ [-0-9a-f]{36}\/pid:\[\d+\] \d+ \S+$/);
});

test('a mark that is none of ours is taken for a run that is under way', () => {
  for (const mark of ['', 'x', `${markWith({}).split(' ')[0]} 1 2`]) assert.equal(mayBeUnderWay(mark), true, mark);
});
