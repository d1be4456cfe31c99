import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { hashAdvice, isCommitHash, isValidRefName } from '../../../../../shared/domain/git/check-ref-name.ts';
import { isNamespaceName, isObjectName } from '../../../../../shared/domain/kubernetes/object-name.ts';
import { fc, runs } from '../../../../support/property.ts';

const valid = ['a', 'a'.repeat(255), 'a.locked', 'refs/heads/release/1.x', 'feature/größe', 'a@b', 'a{b', "it's"];
const invalid = [
  ...['', '@', '-x', '/a', 'a/', 'a.', 'a..b', 'a@{1}', 'a b', 'a\n', 'a\u007f', 'a\u009bb', 'a\u202eb', 'a~1', 'a^'],
  ...['a:b', 'a?', 'a*', 'a[b', 'a\\b', 'a//b', '.a', 'a/.b', 'a.lock', 'a.lock/b', '\ud800', 'ü'.repeat(128)],
];

suite('the name of a git ref', () => {
  for (const name of valid) test(`${name.slice(0, 20)} is accepted`, () => assert.equal(isValidRefName(name), true));
  for (const name of invalid)
    test(`${JSON.stringify(name.slice(0, 20))} is rejected`, () => assert.equal(isValidRefName(name), false));

  test('is accepted by git if it is accepted here', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'ab/.@{}-~^:?*[\\ \u0001l', '.lock', 'ü'), maxLength: 8 });
    fc.assert(
      fc.property(letters, (name) => {
        if (!isValidRefName(name)) return;
        const { status } = spawnSync('git', ['check-ref-format', '--allow-onelevel', name]);
        assert.equal(status, 0, JSON.stringify(name));
      }),
      { numRuns: runs(300) },
    );
  });

  test('is distinguished from a commit hash', () => {
    assert.equal(isCommitHash('a'.repeat(40)), true);
    assert.equal(isCommitHash('0'.repeat(64)), true);
    const others = [
      'a'.repeat(39),
      'a'.repeat(41),
      'a'.repeat(63),
      'A'.repeat(40),
      'g'.repeat(40),
      `${'a'.repeat(40)}\n`,
    ];
    for (const text of others) assert.equal(isCommitHash(text), false);
  });
});

suite('a ref name that looks like a commit gets advice:', () => {
  for (const [name, advice] of [
    ['dfd4b2d', / 40 .* 64 /],
    ['a'.repeat(41), / 40 .* 64 /],
    ['A'.repeat(40), /^[^0-9]+$/],
    ['a'.repeat(40), undefined],
    ['main', undefined],
    ['refs/heads/dead', undefined],
  ] as const)
    test(name, () => (advice ? assert.match(hashAdvice(name) ?? '', advice) : assert.equal(hashAdvice(name), advice)));
});

suite('a Kubernetes object or namespace name is validated:', () => {
  const label = 'a'.repeat(63);
  const names: [text: string, isObject: boolean, isNamespace: boolean][] = [
    ['a', true, true],
    ['a-1', true, true],
    [label, true, true],
    ['1.b', true, false],
    [`${label}.${label}.${label}.${'a'.repeat(61)}`, true, false],
    [`${label}.${label}.${label}.${'a'.repeat(62)}`, false, false],
    [`${label}a`, false, false],
    ...['', '.', '..', 'a..b', '-a', 'a-', 'A', 'a/b', 'a_b', 'a\n', 'é'].map((text): [string, boolean, boolean] => [
      text,
      false,
      false,
    ]),
  ];
  for (const [text, isObject, isNamespace] of names) {
    test(`${JSON.stringify(text.slice(0, 20))} with ${text.length} characters`, () => {
      assert.deepEqual([isObjectName(text), isNamespaceName(text)], [isObject, isNamespace]);
    });
  }
});
