import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { applyPatches, patchesFor } from '../../../../agent/plan/file-patches.ts';
import { type JsonEdit, parseJsonPath } from '../../../../shared/domain/files/json-edits.ts';
import { fc, runs } from '../../../support/property.ts';

const edits = (set: Record<string, string>): JsonEdit[] =>
  Object.entries(set).map(([path, json]) => ({ path: parseJsonPath(path) ?? [], json }));

const applyAll = (content: Buffer, steps: JsonEdit[][]) => applyPatches(content, { steps, hash: '' });

function patchJson(text: string, given: JsonEdit[]) {
  const result = applyAll(Buffer.from(text), [given]);
  return result.kind === 'content' ? ({ kind: 'patched', text: result.content.toString() } as const) : result;
}

suite('a JSON patch', () => {
  const cases: [name: string, before: string, set: Record<string, string>, after: string][] = [
    [
      'large numbers beside it',
      '{"id":12345678901234567890,"x":1.0e400}',
      { x: '2' },
      '{"id":12345678901234567890,"x":2}',
    ],
    ['a byte order mark', '\ufeff{"a":1}', { a: '2' }, '\ufeff{"a":2}'],
    ['a missing key', '{\n  "a": 1,\n  "b": 2\n}', { c: '3' }, '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}'],
    ['a missing key of an empty object', '{"a":{ }}', { 'a.b': '1', 'a.c': '2' }, '{"a":{"b": 1, "c": 2 }}'],
    ['additions at two levels', '{"a":{"x":1}}', { 'a.y': '2', b: '3' }, '{"a":{"x":1,"y":2},"b":3}'],
    ['keys with dots and escapes', '{"a.b":{"\\u0063":1}}', { 'a\\.b.c': '2' }, '{"a.b":{"\\u0063":2}}'],
    ['strings that look like structure', '{"a":"}],{\\"b\\":1","b":1}', { b: '2' }, '{"a":"}],{\\"b\\":1","b":2}'],
  ];
  for (const [name, before, set, after] of cases) {
    test(`changes ${name} and nothing else`, () => {
      const expected = { kind: 'patched', text: after };
      assert.deepEqual(patchJson(before, edits(set)), expected);
      assert.deepEqual(patchJson(before, edits(set).reverse()), expected, 'in another order');
    });
  }

  const refused: [name: string, before: string, set: Record<string, string>, problem: RegExp][] = [
    ['a comment', '{} // x', { a: '2' }, /line 1, column 4$/],
    ['no text', '', { a: '2' }, /line 1, column 1$/],
    ['a string that does not end', '\ufeff{\n "\u20ac": "x', { a: '2' }, /line 2, column 9$/],
    ['a path through a number', '{"a":1}', { 'a.b': '2' }, / a$/],
    ['a scalar at the top', '1', { a: '2' }, / its top$/],
    ['an element that is not there', '{"a":[1]}', { 'a.1': '2' }, / a\.1: .* 1$/],
    ['a key in an array', '{"a":[1]}', { 'a.01': '2' }, / a\.01: /],
    ['a key that is there twice', '{"a":1,"a":2}', { a: '3' }, / a /],
    ['a path and one below it', '{}', { 'a.b': '1', a: '2' }, /\ba\.b .* a /],
  ];
  for (const [name, before, set, problem] of refused) {
    test(`rejects ${name}`, () => {
      const result = patchJson(before, edits(set));
      assert.ok(result.kind === 'problem');
      assert.match(result.message, problem);
    });
  }

  test('needs no stack for a deeply nested file', () => {
    const deep = `{"x":${'['.repeat(5_000)}${']'.repeat(5_000)},"a":1}`;
    const result = patchJson(deep, edits({ a: '2' }));
    assert.ok(result.kind === 'patched' && result.text.endsWith(',"a":2}'));
  });
});

suite('the patches of a file', () => {
  const patch = (file: string, set: Record<string, string>) => ({
    file,
    matches: (path: string) => path === file,
    edits: edits(set),
  });
  const hashOf = (...patches: ReturnType<typeof patch>[]) => patchesFor(patches, 'a')?.hash;

  test('are those that apply to it, in order', () => {
    const first = patch('a', { x: '1' });
    const other = patch('b', { x: '2' });
    const last = patch('a', { y: '3' });
    assert.deepEqual(patchesFor([first, other, last], 'a')?.steps, [first.edits, last.edits]);
    assert.equal(patchesFor([first, other], 'c'), undefined);
    assert.equal(patchesFor([], 'a'), undefined);
  });

  test('are distinguished by all their values, and not by the order in which they list them', () => {
    const hashes = [
      hashOf(patch('a', { x: '1', y: '2' })),
      hashOf(patch('a', { x: '2', y: '2' })),
      hashOf(patch('a', { x: '1', z: '2' })),
      hashOf(patch('a', { x: '1' }), patch('a', { y: '2' })),
      hashOf(patch('a', { y: '2' }), patch('a', { x: '1' })),
    ];
    assert.equal(new Set(hashes).size, hashes.length);
    assert.equal(hashOf(patch('a', { y: '2', x: '1' })), hashes[0]);
    assert.match(hashes[0] ?? '', /^[0-9a-f]{64}$/);
  });

  const apply = (content: Buffer | string, ...sets: Record<string, string>[]) => {
    const steps = sets.map(edits);
    const result = applyAll(Buffer.from(content), steps);
    return result.kind === 'content' ? result.content.toString() : result.message;
  };

  test('are applied one after the other, or not at all', () => {
    assert.equal(apply('{"a":1}', { a: '2', b: '3' }, { b: '4' }), '{"a":2,"b":4}');
    assert.equal(apply('{"a":1}', { a: '{}' }, { 'a.b': '"é"' }), '{"a":{"b": "é"}}');
    assert.equal(apply('{"a":1}'), '{"a":1}');
    assert.match(apply('{"a":1}', { a: '2' }, { 'a.b': '3' }), / a$/);
    assert.match(apply(Buffer.from([0x22, 0xff, 0x22]), { a: '1' }), /UTF-8 .*\b1$/);
    const many = `[${'1,'.repeat(500_000)}1]`;
    assert.match(apply(many, { 0: '2' }), / 500000 /);
  });
});

suite('parseJsonPath', () => {
  const cases: [string, string[] | undefined][] = [
    ['a.b', ['a', 'b']],
    ['a\\.b.c\\\\', ['a.b', 'c\\']],
    ['a\\b', ['a\\b']],
    ['', undefined],
    ['a..b', undefined],
    ['a.', undefined],
  ];
  for (const [text, keys] of cases) test(JSON.stringify(text), () => assert.deepEqual(parseJsonPath(text), keys));
});

/** Writes a value with random white space at each position. */
function write(value: unknown, spaces: () => string): string {
  const s = spaces;
  if (Array.isArray(value)) return `${s()}[${value.map((item) => write(item, s)).join(',')}${s()}]${s()}`;
  if (typeof value !== 'object' || value === null) return `${s()}${JSON.stringify(value)}${s()}`;
  const members = Object.entries(value).map(([key, inner]) => `${s()}${JSON.stringify(key)}${s()}:${write(inner, s)}`);
  return `${s()}{${members.join(',')}${s()}}${s()}`;
}

/** All paths of a value that lead to something. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function put(value: unknown, [key, ...rest]: string[], inner: unknown): unknown {
  if (key === undefined) return inner;
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? put(item, rest, inner) : item));
  const object = value as Record<string, unknown>;
  return { ...object, [key]: put(object[key] ?? {}, rest, inner) };
}

suite('a JSON patch of any document', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes('__proto__'));
  const inside = json.chain((value) => {
    const paths = pathsOf(value).filter((path) => path.length > 0);
    return paths.length === 0 ? fc.constant(undefined) : fc.tuple(fc.constant(value), fc.constantFrom(...paths));
  });
  const seeds = fc.array(fc.constantFrom('', '', ' ', '\n', '\t', '\r\n  '), { minLength: 1, maxLength: 20 });

  test('changes the value, and nothing before or after it', () => {
    fc.assert(
      fc.property(inside, json, seeds, (given, next, spaces) => {
        if (!given) return;
        const [value, path] = given;
        let turn = 0;
        const text = write(value, () => spaces[turn++ % spaces.length] ?? '');
        const mark = '"\u0000mark"';
        const marked = patchJson(text, [{ path, json: mark }]);
        const result = patchJson(text, [{ path, json: JSON.stringify(next) }]);
        assert.ok(marked.kind === 'patched' && result.kind === 'patched');
        const [before = '', after = ''] = marked.text.split(mark);
        assert.ok(text.startsWith(before) && text.endsWith(after));
        assert.equal(result.text, `${before}${JSON.stringify(next)}${after}`);
        assert.deepEqual(JSON.parse(result.text), put(JSON.parse(text), path, JSON.parse(JSON.stringify(next))));
      }),
      { numRuns: runs(1000) },
    );
  });

  test('changes all its values at once, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1 }), json, { minKeys: 2 }),
        json,
        seeds,
        (value, next, spaces) => {
          let turn = 0;
          const text = write(value, () => spaces[turn++ % spaces.length] ?? '');
          const given = Object.keys(value).map((key) => ({ path: [key], json: JSON.stringify(next) }));
          const together = patchJson(text, given);
          const apart = applyAll(
            Buffer.from(text),
            given.map((edit) => [edit]),
          );
          assert.ok(together.kind === 'patched' && apart.kind === 'content');
          assert.equal(together.text, apart.content.toString());
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test('adds a key without moving any other character', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), seeds, json, (value, spaces, next) => {
        if ('new key' in value || '__proto__' in value) return;
        let turn = 0;
        const text = write(value, () => spaces[turn++ % spaces.length] ?? '');
        const result = patchJson(text, [{ path: ['new key', 'x'], json: JSON.stringify(next) }]);
        assert.ok(result.kind === 'patched');
        const parsed = JSON.parse(JSON.stringify(next));
        assert.deepEqual(JSON.parse(result.text), { ...JSON.parse(text), 'new key': { x: parsed } });
        const added = result.text.length - text.length;
        const cut = [...text].findIndex(
          (_, at) => text.slice(0, at) + result.text.slice(at, at + added) + text.slice(at) === result.text,
        );
        assert.notEqual(cut, -1);
      }),
      { numRuns: runs(300) },
    );
  });
});
