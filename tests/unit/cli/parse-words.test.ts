import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseWords } from '../../../cli/program/parse-words.ts';

const args = {
  name: { type: 'positional', required: true, description: '' },
  namespace: { type: 'string', alias: 'n', description: '' },
  label: { type: 'string', isRepeatable: true, description: '' },
  wait: { type: 'boolean', alias: 'w', description: '' },
  yes: { type: 'boolean', alias: 'y', description: '' },
  open: { type: 'boolean', default: true, description: '' },
} as const;

suite('the words of a command line', () => {
  for (const [line, parsed] of [
    ['plant', { name: 'plant', open: true }],
    ['--namespace a plant', { namespace: 'a', name: 'plant', open: true }],
    ['plant -n=a', { namespace: 'a', name: 'plant', open: true }],
    ['-n a -n b plant', { namespace: 'b', name: 'plant', open: true }],
    ['plant --label a=1 --label=b=2', { name: 'plant', label: ['a=1', 'b=2'], open: true }],
    ['plant -wy', { name: 'plant', wait: true, yes: true, open: true }],
    ['plant --wait=false --no-open', { name: 'plant', wait: false, open: false }],
    ['-- -plant', { name: '-plant', open: true }],
  ] as const)
    test(`are read: ${line}`, () => assert.deepEqual(parseWords(args, line.split(' ')), parsed));

  for (const [line, message] of [
    ['', /^NAME /],
    ['plant --no-namespace', / --no-namespace$/],
    ['plant --name=x', / --name$/],
    ['plant --toString', / --toString$/],
    ['plant --wait=', /^--wait .* --wait=$/],
    ['plant --label', /^--label /],
    ['plant pump', / pump$/],
  ] as const)
    test(`are refused: ${line}`, () =>
      assert.throws(() => parseWords(args, line.split(' ').filter(Boolean)), { code: 'InvalidArguments', message }));
});
