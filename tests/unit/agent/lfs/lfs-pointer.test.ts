import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { lfsEndpoint } from '../../../../agent/lfs/lfs-api.ts';
import { parseLfsPointer } from '../../../../agent/lfs/lfs-pointer.ts';

suite('the Git LFS server of a repository', () => {
  const cases: [repo: string, endpoint: string][] = [
    ['https://git.test/org/x', 'https://git.test/org/x.git/info/lfs'],
    ['https://git.test:8443/org/x.git', 'https://git.test:8443/org/x.git/info/lfs'],
    ['http://git.test/x.git/', 'http://git.test/x.git/info/lfs'],
  ];
  for (const [repo, endpoint] of cases) test(repo, () => assert.equal(lfsEndpoint(repo), endpoint));
});

suite('a Git LFS pointer', () => {
  const oid = 'ab'.repeat(32);
  const pointer = (lines: string) => Buffer.from(`version https://git-lfs.github.com/spec/v1\n${lines}`);

  test('contains the hash and size of the content', () => {
    assert.deepEqual(parseLfsPointer(pointer(`oid sha256:${oid}\nsize 12345\n`)), { oid, size: 12345 });
  });

  test("with an extension isn't a pointer to the final content", () => {
    const extended = `ext-0-foo sha256:${'c'.repeat(64)}\noid sha256:${oid}\nsize 12345\n`;
    assert.equal(parseLfsPointer(pointer(extended)), undefined);
  });

  for (const lines of ['', `oid sha256:${oid}\n`, 'oid sha256:../x\nsize 1\n', `oid md5:${oid}\nsize 1\n`]) {
    test(`is damaged if it contains ${JSON.stringify(lines.slice(0, 30))}`, () => {
      assert.equal(parseLfsPointer(pointer(lines)), undefined);
    });
  }
  test("is damaged if its size isn't a number", () => {
    assert.equal(parseLfsPointer(pointer(`oid sha256:${oid}\nsize -1\n`)), undefined);
  });
});
