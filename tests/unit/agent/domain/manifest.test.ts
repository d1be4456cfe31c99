import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { emptyManifest, parseManifest } from '../../../../agent/domain/manifest.ts';

const file = {
  path: 'a/b',
  source: 'x',
  blob: 'b',
  sha256: 's',
  executable: false,
  fingerprint: { size: '1', mtimeNs: '2', ino: '3' },
};
const withFile = (changes: object) => JSON.stringify({ ...emptyManifest, files: [{ ...file, ...changes }] });

suite('parseManifest', () => {
  test('reads what was written', () => {
    const manifest = { ...emptyManifest, files: [{ ...file, pending: true }], folders: ['a'] };
    assert.deepEqual(parseManifest(JSON.stringify(manifest)), { kind: 'manifest', manifest });
  });

  const damaged: [name: string, text: string][] = [
    ['half a file', '{"version":1,"files":['],
    ['another value', 'null'],
    ['a path that leads out', withFile({ path: '../x' })],
    ['a path that leads out further in', withFile({ path: 'a/../../x' })],
    ['an absolute path', withFile({ path: '/etc/passwd' })],
    ['an empty path', withFile({ path: '' })],
    ["the agent's own files", withFile({ path: '.sync-agent/manifest.json' })],
    ['a folder that leads out', JSON.stringify({ ...emptyManifest, folders: ['..'] })],
  ];
  for (const [name, text] of damaged) {
    test(`${name}: owns nothing`, () => assert.deepEqual(parseManifest(text), { kind: 'damaged' }));
  }

  test('a newer version is told from a damaged one', () => {
    assert.deepEqual(parseManifest('{"version":2}'), { kind: 'newer', version: 2 });
  });
});
