import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importedBy, importersOf, importGraph } from '../../../../scripts/mutation/import-graph.ts';

const sources = new Map([
  ['shared/a.ts', ''],
  ['agent/b.ts', "import { a } from '../shared/a.ts';"],
  ['agent/c.ts', "export { b } from './b.ts';"],
  ['agent/d.ts', "import type { A } from '../shared/a.ts';"],
  ['tests/unit/c.test.ts', "import { c } from '../../agent/c.ts'; import 'node:test';"],
  ['tests/unit/a.test.ts', "import { a } from '../../shared/a.ts';"],
  ['tests/unit/d.test.ts', "import { d } from '../../agent/d.ts';"],
]);

test('what imports a file is found, the nearest first; an import of types is none', () => {
  assert.deepEqual(importersOf('shared/a.ts', importGraph(sources)), [
    ...['agent/b.ts', 'tests/unit/a.test.ts', 'agent/c.ts', 'tests/unit/c.test.ts'],
  ]);
});

test('what a file imports is found, straight or by way of others', () => {
  assert.deepEqual(importedBy('tests/unit/c.test.ts', importGraph(sources)), [
    ...['agent/b.ts', 'agent/c.ts', 'shared/a.ts', 'tests/unit/c.test.ts'],
  ]);
});
