import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  emptyManifest,
  type ManifestUpdate,
  type OwnedFile,
  updateManifest,
} from '../../../../../agent/plan/manifest.ts';
import { MANIFEST_HEADER, manifestText, updateText } from '../../../../../agent/volume/manifest/manifest-text.ts';
import { parseManifest } from '../../../../../agent/volume/manifest/parse-manifest.ts';
import { omit } from '../../../../../shared/domain/text/objects.ts';
import { fc } from '../../../../support/property.ts';
import { updateOf } from '../../support/memory-volume.ts';

const applied = { ref: 'main', commit: 'c', time: 't', revision: 'r' };
const file: OwnedFile = {
  path: 'a/b',
  source: 'x',
  blob: 'b',
  inputs: { keys: ['Ref'], hash: 'h' },
  patches: 'p',
  sha256: 's',
  executable: true,
  fingerprint: { size: 1, mtimeMs: 1_763_710_000_000.125, ino: 3 },
};
const textOf = (...updates: ManifestUpdate[]) =>
  [MANIFEST_HEADER, ...updates.flatMap((one) => [...updateText(one)])].join('');
const parse = (text: string) => parseManifest([Buffer.from(text)]);
const read = async (text: string) => {
  const parsed = await parse(text);
  assert.equal(parsed.kind, 'manifest');
  return parsed.kind === 'manifest' ? parsed : assert.fail();
};

suite('parseManifest', () => {
  test('reads every update that was written', async () => {
    const second = {
      ...file,
      path: 'ä"\\b',
      source: 'ä"\\b',
      inputs: undefined,
      patches: undefined,
      executable: false,
    };
    const text = textOf(
      updateOf({ files: [file, second], folders: ['a', 'c'], journal: 'id' }),
      updateOf({ forgottenFiles: [second.path], forgottenFolders: ['c'] }),
    );
    const { manifest, length, lines } = await read(text);
    assert.deepEqual([...manifest.files.values()], [file]);
    assert.deepEqual([[...manifest.directories], manifest.journal], [['a'], 'id']);
    assert.deepEqual([length, lines], [Buffer.byteLength(text), text.split('\n').length - 2]);
  });

  test('reads every property of a file, and of a sync', async () => {
    const full: OwnedFile = { ...file, mode: 0o600, groupWrite: true, found: true };
    const bare: OwnedFile = { ...omit(file, 'inputs', 'patches'), path: 'c', source: 'c', executable: false };
    for (const one of [full, bare, ...Object.keys(full).map((key) => ({ ...bare, path: key, ...pick(full, key) }))]) {
      const { manifest } = await read(textOf(updateOf({ files: [one] })));
      assert.deepEqual([...manifest.files.values()], [one]);
    }
    for (const startPolicy of ['requireSync', 'useLastGood'] as const)
      assert.deepEqual((await read(textOf(updateOf({ applied: { ...applied, startPolicy } })))).manifest.applied, {
        ...applied,
        startPolicy,
      });
  });

  test('reads a large update in chunks', async () => {
    const files = Array.from({ length: 1_000 }, (_, n) => ({ ...file, path: `f${n}` }));
    const pieces = [...updateText(updateOf({ files }))];
    assert.ok(pieces.length > 1 && pieces.every(({ length }) => length < 66 * 1024), `${pieces.length}`);
    assert.equal((await read(MANIFEST_HEADER + pieces.join(''))).manifest.files.size, 1_000);
  });

  test('keeps the ID of a journal until another sync moves files', async () => {
    const { manifest } = await read(textOf(updateOf({ files: [file], journal: 'id' }), updateOf({ applied })));
    assert.deepEqual([manifest.journal, manifest.applied], ['id', applied]);
  });

  test('reads the same from a full manifest as from the updates that led to it', async () => {
    const path = fc.constantFrom('a', 'b', 'c/d');
    const requiredKeys = ['path', 'source', 'blob', 'sha256', 'executable', 'fingerprint'] as const;
    const plain = { noNullPrototype: true, requiredKeys: [...requiredKeys] };
    const someUpdate = fc.record({
      files: fc.array(fc.record({ ...constants(file), path, source: path, executable: fc.boolean() }, plain), {
        maxLength: 3,
      }),
      folders: fc.array(fc.constantFrom('c', 'e')),
      forgottenFiles: fc.array(path),
      forgottenFolders: fc.array(fc.constantFrom('c', 'e')),
      applied: fc.constantFrom(undefined, applied),
      journal: fc.constantFrom(undefined, 'one', 'two'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(someUpdate, { maxLength: 5 }), async (updates) => {
        const manifest = emptyManifest();
        for (const one of updates) updateManifest(manifest, one);
        assert.deepEqual((await read(textOf(...updates))).manifest, manifest);
        assert.deepEqual((await read([...manifestText(manifest)].join(''))).manifest, manifest);
      }),
    );
  });

  test('ignores an update that is cut off at any byte', async () => {
    const first = textOf(updateOf({ files: [file], applied }));
    const both = Buffer.from(textOf(updateOf({ files: [file], applied }), updateOf({ forgottenFiles: [file.path] })));
    for (let end = first.length; end < both.length; end += 1) {
      const parsed = await parseManifest([both.subarray(0, 99), both.subarray(99, end)]);
      assert.ok(parsed.kind === 'manifest');
      assert.deepEqual(
        [parsed.length, parsed.manifest.files.size, parsed.manifest.applied],
        [first.length, 1, applied],
      );
    }
    assert.equal((await read(both.toString())).manifest.files.size, 0);
  });

  test('ignores an update with a changed byte, as after a power loss, and those that follow it', async () => {
    const texts = [
      updateOf({ files: [file], applied }),
      updateOf({ files: [{ ...file, path: 'z' }] }),
      updateOf({ applied }),
    ];
    const text = textOf(...texts).replace('"path":"z"', '"path":"y"');
    assert.deepEqual([...(await read(text)).manifest.files.keys()], ['a/b']);
  });

  const damaged: [name: string, text: string][] = [
    ['half a header', '{"version":1'],
    ['another value', 'null\n'],
  ];
  for (const [name, text] of damaged) {
    test(`finds no owned files: ${name}`, async () => assert.deepEqual(await parse(text), { kind: 'damaged' }));
  }

  for (const path of ['../x', 'a/../../x', '/etc/passwd', '', 'a//b', '.sync-agent/manifest.jsonl']) {
    test(`finds no owned files at the path ${JSON.stringify(path)}`, async () => {
      assert.equal((await read(textOf(updateOf({ files: [{ ...file, path }] })))).manifest.files.size, 0);
      assert.equal((await read(textOf(updateOf({ folders: [path] })))).manifest.directories.size, 0);
    });
  }

  test('distinguishes a newer version from a damaged manifest', async () => {
    assert.deepEqual(await parse('{"version":4}\n'), { kind: 'newer', version: 4 });
    assert.deepEqual(await parse('{"version":1}\n'), { kind: 'damaged' });
  });
});

/** One of the fields, but the path. */
const pick = (file: OwnedFile, key: string) => (key === 'path' ? {} : { [key]: file[key as keyof OwnedFile] });

function constants(file: OwnedFile) {
  const rest = omit(file, 'path', 'source', 'executable');
  return {
    blob: fc.constant(rest.blob),
    inputs: fc.constant(rest.inputs),
    patches: fc.constant(rest.patches),
    sha256: fc.constant(rest.sha256),
    fingerprint: fc.constantFrom(rest.fingerprint, { ...rest.fingerprint, isRacy: true as const }),
  };
}
