import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeProblem } from '../../../cli/program/node-version.ts';

test('the plugin reports the required version of Node.js if it runs on an older one', () => {
  for (const version of ['22.21.0', '22.22.1', '23.0.0', '26.10.0']) assert.equal(nodeProblem(version), undefined);
  for (const version of ['18.20.4', '20.20.2', '22.20.0'])
    assert.match(nodeProblem(version) ?? '', new RegExp(` 22\\.21 .* ${version}: `));
});
