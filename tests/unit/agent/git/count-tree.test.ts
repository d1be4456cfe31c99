import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { TreeCounter } from '../../../../agent/git/count-tree.ts';

const path = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', '/', ' ', 'ä', '0', '1') });
const entry = fc.record({ mode: fc.constantFrom('100644', '120000', '160000', '040000'), path });
const isFile = ({ mode }: { mode: string }): boolean => mode !== '040000';

suite('a listing of git', () => {
  test('is counted, and its files are given, in whatever pieces it arrives', () => {
    fc.assert(
      fc.property(fc.array(entry), fc.integer({ min: 1, max: 20 }), (entries, pieceSize) => {
        const listing = Buffer.from(entries.map((each) => `${each.mode} ${each.path}\0`).join(''));
        const counter = new TreeCounter('100644 '.length);
        const records: string[] = [];
        for (let at = 0; at < listing.length; at += pieceSize) {
          counter.take(listing.subarray(at, at + pieceSize), (record) => records.push(record.toString()));
        }
        const files = entries.filter(isFile);
        assert.deepEqual(
          records,
          files.map((each) => `${each.mode} ${each.path}`),
        );
        const bytesOf = (some: typeof entries) => some.reduce((sum, each) => sum + Buffer.byteLength(each.path), 0);
        const folders = entries.filter((each) => !isFile(each));
        const bytes = { bytes: bytesOf(files), folderBytes: bytesOf(folders) };
        assert.deepEqual(counter.size, { files: files.length, folders: folders.length, ...bytes, isComplete: false });
      }),
    );
  });

  test('never counts more before its end than in the end', () => {
    fc.assert(
      fc.property(fc.array(entry), fc.array(fc.integer({ min: 1, max: 20 })), (entries, pieces) => {
        const listing = Buffer.from(entries.map((each) => `${each.mode} ${each.path}\0`).join(''));
        const counter = new TreeCounter('100644 '.length);
        const seen: number[] = [];
        let at = 0;
        for (const size of [...pieces, listing.length]) {
          counter.take(listing.subarray(at, at + size));
          seen.push(counter.size.bytes);
          at += size;
        }
        assert.ok(seen.every((bytes) => bytes <= counter.size.bytes));
      }),
    );
  });
});
