import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLfsPointer } from '../../../../agent/plan/lfs-pointer.ts';

const oid = 'ab'.repeat(32);

for (const [what, lines, expected] of [
  ['contains the hash and size of the content', `oid sha256:${oid}\nsize 12345\n`, { oid, size: 12345 }],
  ["with an extension isn't one to the final content", `ext-0-foo sha256:${oid}\noid sha256:${oid}\nsize 1\n`],
  ['without a size is damaged', `oid sha256:${oid}\n`],
  ['with another size is damaged', `oid sha256:${oid}\nsize -1\n`],
  ['with another hash is damaged', 'oid sha256:../x\nsize 1\n'],
  ['with another algorithm is damaged', `oid md5:${oid}\nsize 1\n`],
] as const)
  test(`a Git LFS pointer ${what}`, () => {
    const text = `version https://git-lfs.github.com/spec/v1\n${lines}`;
    assert.deepEqual(parseLfsPointer(Buffer.from(text)), expected);
  });
