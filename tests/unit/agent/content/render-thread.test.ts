import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renderApart } from '../../../../agent/content/render-thread.ts';
import { patchesFor } from '../../../../agent/plan/file-patches.ts';
import type { DesiredFile } from '../../../../agent/plan/plan-input.ts';
import { renderFile } from '../../../../agent/plan/render-file.ts';
import type { JsonEdit } from '../../../../shared/domain/files/json-edits.ts';
import { cleanUp } from '../../../support/clean-up.ts';
import { slow } from '../../../support/depth.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';

const LARGE = 8 * 1024 ** 2 - 1_000;
const values = new Map([['Vars.a', 'x'.repeat(300)]]);

function fileOf({ template = false, edits }: { template?: boolean; edits?: JsonEdit[] }): DesiredFile {
  const patches = edits && patchesFor([{ file: '*', matches: () => true, edits }], 'a');
  return { path: 'a', source: 'a', blob: '', executable: false, template, ...(patches && { patches }) };
}

const set: JsonEdit[] = [{ path: ['b'], json: '"x"' }];
const numbers = `{"a":[${'1234567890123,'.repeat(LARGE / 14)}1]}`;
const members = `{${'"a key of some length":12345,'.repeat(240_000)}"b":1}`;

suite('a large file', () => {
  const cases: [name: string, text: string, file: DesiredFile][] = [
    ['with patches', members, fileOf({ edits: set })],
    ['with an invalid end', `${members.slice(0, -1)}x`, fileOf({ edits: set })],
    ['of a template', '{{.Vars.a}}\n'.repeat(27_000), fileOf({ template: true })],
    ['of a template and patches', numbers.replace('1', '{{ "2" }}'), fileOf({ template: true, edits: set })],
    [
      'that a small template makes',
      `{${'"{{.Vars.a}}":[1],'.repeat(3_000)}"b":1}`,
      fileOf({ template: true, edits: set }),
    ],
  ];
  for (const [name, text, file] of cases) {
    test(`${name} is rendered as usual`, slow, async () => {
      const content = Buffer.from(text);
      assert.deepEqual(await renderApart(content, file, values), renderFile(content, file, values));
    });
  }

  test('without anything to render needs no thread', async (t) => {
    let threads = 0;
    const count = () => {
      threads += 1;
    };
    process.on('worker', count);
    cleanUp(t, () => process.off('worker', count));
    const picture = Buffer.from(`\0\0\0${'{{'.repeat(50_000)}`);
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('a: {{ .Vars.a }}\n'.repeat(9_000), 'utf16le')]);
    for (const content of [picture, wide, Buffer.from('a: 1\n'.repeat(20_000))]) {
      const file = fileOf({ template: true });
      assert.deepEqual(await renderApart(content, file, values), renderFile(content, file, values));
    }
    assert.equal(threads, 0);
    await renderApart(Buffer.from('a: {{ .Vars.a }}\n'.repeat(9_000)), fileOf({ template: true }), values);
    assert.equal(threads, 1);
  });

  test('leaves the main thread free for probes', slow, async () => {
    const content = Buffer.from(members);
    const whole = process.cpuUsage();
    const main = process.threadCpuUsage();
    await renderApart(content, fileOf({ edits: set }), values);
    const { user, system } = process.threadCpuUsage(main);
    const total = process.cpuUsage(whole);
    assert.ok((user + system) * 4 < total.user + total.system, 'at least three quarters are the work of others');
  });

  test('that needs more memory than there is, is a problem of the file', slow, async () => {
    const output = await runInSmallHeap(`
      import { renderApart } from ${importable('agent/content/render-thread.ts')};
      const held = Array.from({ length: 48 }, () => new Array(2 ** 17).fill(0.5));
      const patches = { steps: [[{ path: ['0'], json: '1' }]], hash: '' };
      const file = { path: 'a', source: 'a', template: false, patches };
      const { kind, problems } = await renderApart(Buffer.from('[' + '{},'.repeat(249_990) + '1]'), file, new Map());
      console.log(kind, problems[0].key, held.length);`);
    assert.match(output, /^problem a: memory /);
  });
});
