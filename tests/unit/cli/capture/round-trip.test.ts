import assert from 'node:assert/strict';
import { chmod, lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { byDepth } from '../../../support/depth.ts';
import { fc } from '../../../support/property.ts';
import { captureWorld } from './capture-world.ts';

const FILES = {
  'base/a.txt': 'one\ntwo\nthree\n',
  'base/shared/s.txt': 'shared\n',
  'base/over.txt': 'of all\n',
  'base/sub/run.sh': '#!/bin/sh\n',
  'gateways/edge/over.txt': 'of this one\n',
  'patched/both.json': '{\n  "name": "template",\n  "limits": {"low": 1, "high": 2},\n  "list": [1, 2]\n}\n',
  'patched/neither.json': '{"other": true}',
  'patched/empty.json': '{}',
  'rendered/r.txt': 'I am {{ .GatewayName }}\n',
};

const mapping = (source: string, destination: string, more: object = {}) => ({ source, destination, ...more });
const patches = [{ file: '*.json', set: { name: '{{ .GatewayName }}', 'limits.high': '60' } }];
const mappings = [
  mapping('base', 'etc'),
  mapping('gateways/{{ .GatewayName }}', 'etc', { required: false }),
  mapping('base/shared', 'copy'),
  mapping('patched', 'app', { patches }),
  mapping('rendered', 'rendered', { template: true }),
];

const file = fc.constantFrom(
  ...['etc/a.txt', 'etc/over.txt', 'etc/shared/s.txt', 'copy/s.txt', 'etc/sub/run.sh', 'rendered/r.txt'],
  ...['app/both.json', 'app/neither.json', 'app/empty.json', 'app/new.json', 'etc/new.txt', 'copy/new.txt', 'new/n'],
);
const plainText = fc.oneof(
  fc.constantFrom('', 'x', 'one\nTWO\nthree\n', 'a\r\nb\n', '\ufeffx', '{{ .GatewayName }}', '\0\u0001'),
  fc.string(),
);
const json = fc
  .record(
    {
      name: fc.constantFrom('edge', 'other', null),
      limits: fc.record({ low: fc.nat(9), high: fc.constantFrom(60, 61), more: fc.nat(1) }, { requiredKeys: [] }),
      list: fc.array(fc.nat(3)),
      'a~/b.c': fc.string(),
    },
    { requiredKeys: [] },
  )
  .chain((value) => fc.constantFrom(undefined, 1, 4, '\t').map((indent) => JSON.stringify(value, undefined, indent)));
/** The delivered text with a change, as an editor that keeps the form makes it. */
const change = fc.constantFrom<[string, string]>(
  ['"low": 1', '"low": 17'],
  ['[1, 2]', '[1, 2, 3]'],
  ['true', '"\u2028"'],
  ['}', ', "added": {}}'],
  ['{', '{"first": 1, '],
  ['60', '61'],
);

const edit = fc.record({ file, mode: fc.boolean(), to: fc.oneof(plainText, json, change) });

/** Contents, modes, and links of everything but the agent's own files. */
async function stateOf(root: string): Promise<Map<string, string>> {
  const names = (await readdir(root, { recursive: true })).filter((name) => !name.startsWith('.sync-agent')).sort();
  const state = new Map<string, string>();
  for (const name of names) {
    const stats = await lstat(path.join(root, name));
    const content = stats.isFile() ? await readFile(path.join(root, name), 'hex') : '';
    state.set(name, `${stats.mode.toString(8)} ${content}`);
  }
  return state;
}

test('after a capture of any edits, a commit and a sync change no byte on the gateway', async (t) => {
  let captured = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 6 }), async (edits) => {
      const world = await captureWorld(t, FILES, { mappings });
      for (const { file, mode, to } of edits) {
        const before = await readFile(world.at(file), 'utf8').catch(() => '{}');
        await world.edit(file, Array.isArray(to) ? before.replace(to[0], () => to[1]) : to);
        if (mode) await chmod(world.at(file), 0o755);
      }
      const before = await stateOf(world.sandbox.data);
      const taken = await world.take();
      captured += taken.files.length;
      for (const result of await world.put(taken)) assert.equal(result.kind, 'edit');
      await world.pushAndSync();
      assert.deepEqual(await stateOf(world.sandbox.data), before);
      const again = await world.sandbox.inspect({ kind: 'drift' }, { repo: '', commit: '' });
      const refused = new Set(taken.refused.map((refusal) => refusal.path));
      assert.deepEqual(
        again.changes.map((each) => each.path).filter((each) => !refused.has(each)),
        [],
        'everything else is in git',
      );
    }),
    { numRuns: byDepth(2, 40), examples: [[[{ file: 'etc/a.txt', mode: false, to: 'edited' }]]] },
  );
  assert.ok(captured > 0);
});
