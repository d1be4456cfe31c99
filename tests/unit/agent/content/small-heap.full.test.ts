import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { importable, runInSmallHeap } from '../support/small-heap.ts';

const MIB = 1024 ** 2;
const FIRST = `[[{ path: ['0'], json: '"x"' }]]`;

/** Delivers content from `text`, and returns the output. */
async function makeContent(text: string, way: 'template' | 'patch', edits = FIRST): Promise<string> {
  return await runInSmallHeap(`
    import { renderApart } from ${importable('agent/content/render-thread.ts')};
    const content = Buffer.from(${text});
    const file = ${way === 'template' ? '{ template: true }' : `{ template: false, patches: { steps: ${edits}, hash: '' } }`};
    const result = await renderApart(content, { path: 'a', source: 'a', ...file }, new Map([['Vars.a', 'x'.repeat(300)]]));
    console.log(result.kind, result.message ?? result.content.length);`);
}

/** As an expression: the piece, so often that a few bytes are left of 8 MiB. */
const filled = (piece: string) => `'${piece}'.repeat(${Math.floor((8 * MIB - 16) / Buffer.byteLength(piece))})`;

suite('with the heap of a small container, the agent survives 8 MiB of content as', () => {
  const templates: [name: string, text: string, outcome: RegExp][] = [
    ['a value that makes it longer', filled('{{.Vars.a}}'), /^problem a: line 1: .* 8388608 /],
    ['many expressions that make it shorter', filled('{{"a"}}'), /^content 1198370$/],
    ['an error after many lines', `${filled('\\n')} + '{{ x }}'`, /^problem a: line 4194297: /],
    ['characters of three bytes', filled('\u20ac{{"a"}}'), /^content 3355436$/],
  ];
  for (const [name, text, outcome] of templates) {
    test(`a template, ${name}`, async () => assert.match(await makeContent(text, 'template'), outcome));
  }

  const json: [name: string, text: string, outcome: RegExp][] = [
    ['of brackets', `'[' + ${filled('{},')} + '1]'`, /^problem a .* 500000 /],
    ['of as many objects as can be', "'[' + '{},'.repeat(249990) + '1]'", /^content /],
    ['of text', `'[1, "' + ${filled('\u20ac')} + '"]'`, /^content /],
  ];
  for (const [name, text, outcome] of json) {
    test(`a JSON patch, ${name}`, async () => assert.match(await makeContent(text, 'patch'), outcome));
  }

  const keys =
    "Array.from({ length: 8 }, (_, p) => Array.from({ length: 32 }, (_, n) => ({ path: [p + '.' + n], json: '1' })))";
  const wide: [where: string, text: string][] = [
    ['before the last key', `'{"a":1,' + ${filled(' ')}.slice(16) + '"b":2}'`],
    ['before the only key', `'{' + ${filled(' ')}.slice(16) + '"b":2}'`],
  ];
  for (const [where, text] of wide) {
    test(`a JSON patch that adds keys, with white space ${where}`, async () =>
      assert.match(await makeContent(text, 'patch', keys), /^content 83\d{5}$|^content 84\d{5}$/));
  }

  const sets =
    "Array.from({ length: 16 }, () => Array.from({ length: 32 }, (_, n) => ({ path: ['e' + n], json: '2' })))";
  const shapes: [name: string, text: string][] = [
    ['of characters of two bytes', `'"\u20ac":"' + 'y'.repeat(8e6) + '"'`],
    ['of many shapes', `Array.from({ length: 70_000 }, (_, n) => '"x' + n + '\u20ac":[{"k' + n + '":1}]').join()`],
  ];
  for (const [name, text] of shapes) {
    test(`as many JSON patches of as many values as a mapping can have, ${name}`, async () => {
      const values = "Array.from({ length: 32 }, (_, n) => '\"e' + n + '\":1,').join('')";
      assert.match(await makeContent(`'{' + ${values} + ${text} + '}'`, 'patch', sets), /^content \d{7}$/);
    });
  }
});
