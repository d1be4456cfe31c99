import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renderPatch } from '../../../../../shared/domain/files/render-patch.ts';

const values = new Map([
  ['GatewayName', 'edge'],
  ['Vars.port', '8043'],
  ['Vars.quote', 'say "x"'],
]);

suite('renderPatch', () => {
  const written: [text: string, json: string][] = [
    ['{{ .Vars.port }}', '8043'],
    ['"{{ .Vars.port }}"', '"8043"'],
    ['gateway {{ .GatewayName }}', '"gateway edge"'],
    ['{{ .Vars.quote }}', '"say \\"x\\""'],
    [' {"a": 12345678901234567890} ', '{"a": 12345678901234567890}'],
    ['', '""'],
  ];
  for (const [text, json] of written) {
    test(`turns ${JSON.stringify(text)} into ${json}`, () => {
      const result = renderPatch({ file: 'a.json', set: { 'a.b': text } }, values);
      assert.ok(result.kind === 'patch');
      assert.deepEqual(result.patch.edits, [{ path: ['a', 'b'], json }]);
      assert.deepEqual(JSON.parse(JSON.stringify(result.patch)).edits, result.patch.edits, 'as it is compared');
    });
  }

  test('accepts a path of the maximum depth', () => {
    const result = renderPatch({ file: 'a.json', set: { ['a.'.repeat(63).concat('a')]: '1' } }, values);
    assert.ok(result.kind === 'patch');
    assert.equal(result.patch.edits[0]?.path.length, 64);
  });

  const fits: [file: string, path: string, fits: boolean][] = [
    ['a.json', 'a.json', true],
    ['a.json', 'b/a.json', false],
    ['*/resource.json', 'x/resource.json', true],
    ['a[1].json', 'a[1].json', true],
    ['', '', true],
    ['*', '', false],
    ['[!a].json', 'b.json', true],
    ['a (1).*', 'a (1).json', true],
  ];
  for (const [file, path, expected] of fits) {
    test(`${expected ? 'applies' : "doesn't apply"} to ${JSON.stringify(file)} with the file pattern ${JSON.stringify(path)}`, () => {
      const result = renderPatch({ file, set: { a: '1' } }, values);
      assert.ok(result.kind === 'patch');
      assert.equal(result.patch.matches(path), expected);
    });
  }

  const refused: [name: string, file: string, set: Record<string, string>, problem: RegExp][] = [
    ['a range', 'a{1..9}.json', { a: '1' }, /^\.file: "a\{1\.\.9\}\.json": .* \{1\.\.9\} /],
    ['a path of a megabyte', 'a', { ['a.'.repeat(600_000)]: '1' }, /^\.set: "(a\.){40}" .* 64 .* 512\b/],
    ['paths in each other', 'a', { a: '1', 'a.b': '2' }, /^\.set: a\.b and a /],
    ['a path of many keys', 'a', { ['a.'.repeat(64).concat('a')]: '1' }, /^\.set: "(a\.){40}" .* 64 /],
  ];
  for (const [name, file, set, problem] of refused) {
    test(`rejects ${name}`, () => {
      const result = renderPatch({ file, set }, values);
      assert.ok(result.kind === 'problem');
      assert.match(result.message, problem);
    });
  }
});
