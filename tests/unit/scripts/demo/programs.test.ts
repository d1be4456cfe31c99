import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastProblem } from '../../../../scripts/demo/programs.ts';

const line = (entry: object) => `${JSON.stringify(entry)}\n`;

test('the last warning or error of a log says what keeps a program', () => {
  const log = [
    line({ level: 'warn', msg: 'an earlier one' }),
    line({ level: 'error', msg: 'list failed', err: { message: 'no profile' } }),
    line({ level: 'info', msg: 'started' }),
    'a warning of Node\n',
    '{"level":"error","msg":"half of a li',
  ].join('');
  assert.equal(lastProblem(log), 'list failed: no profile');
  assert.equal(lastProblem(line({ level: 'warn', msg: 'no error' })), 'no error');
});

test('a log without a warning says nothing', () => {
  assert.equal(lastProblem(''), undefined);
  assert.equal(lastProblem(line({ level: 'info', msg: 'started' })), undefined);
});
