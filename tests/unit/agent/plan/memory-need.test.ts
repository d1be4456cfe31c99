import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import {
  farTooMuch,
  heapFor,
  isFarTooMuch,
  loadOf,
  memoryProblem,
  NEW_OBJECTS_BYTES,
  NO_LOAD,
  withMappings,
} from '../../../../agent/plan/memory-need.ts';
import type { TreeEntry } from '../../../../agent/plan/plan-input.ts';
import { readNodeFlags } from '../../../../scripts/images/read-entry-point.ts';
import type { RenderedMapping } from '../../../../shared/domain/render-mappings.ts';

const MIB = 1024 ** 2;
const load = (files: number, leaving = 0, pathLength = 31, folders = 0) => ({
  ...{ files, folders, leaving, movedBytes: 0 },
  pathBytes: files * pathLength,
  folderBytes: folders * pathLength,
  leavingBytes: leaving * pathLength,
});
const entry = (path: string): TreeEntry => ({ path, kind: 'file', blob: 'b', executable: false });
const mapping = (source: string, destination: string): RenderedMapping => ({
  ...{ source, destination, required: true, template: false, intoFolder: false, type: undefined, patches: [] },
});

suite('the memory that a sync needs', () => {
  // The largest heap in which a sync was seen to fail, and the smallest in which one succeeded, in MiB.
  const measured: [files: number, leaving: number, pathLength: number, fails: number, succeeds: number][] = [
    [20_000, 0, 31, 26, 32],
    [100_000, 0, 31, 84, 100],
    [100_000, 0, 108, 128, 160],
    [20_000, 20_000, 31, 48, 56],
  ];
  for (const [files, leaving, pathLength, fails, succeeds] of measured) {
    test(`of ${files} files with paths of ${pathLength} bytes, while ${leaving} leave, is what was measured`, () => {
      const mib = heapFor(load(files, leaving, pathLength)) / MIB;
      assert.ok(mib > fails && mib < succeeds * 1.1, `${mib.toFixed(1)} MiB`);
    });
  }

  // 270,000 folders ended an agent with 128 MiB; 240,000 did not, and neither did 180,000 with 44 MiB of heap.
  test('grows with folders, each of which is in a few lists', () => {
    const mib = (files: number, perFile: number, pathLength: number) =>
      heapFor(load(files, 0, pathLength, files * perFile)) / MIB;
    assert.ok(mib(30_000, 9, 30) > 64, `${mib(30_000, 9, 30)} MiB`);
    assert.ok(mib(20_000, 12, 36) < 64, `${mib(20_000, 12, 36)} MiB`);
    assert.ok(mib(10_000, 18, 45) < 44 * 1.15, `${mib(10_000, 18, 45)} MiB`);
    const problem = memoryProblem(load(30_000, 0, 30, 270_000), 64 * MIB);
    assert.match(
      problem ?? '',
      /^the profile maps 30000 files in 270000 folders, for which the agent needs about 1\d\d MiB/,
    );
  });

  // 35,000 folders with paths of 1,260 bytes took between 45 and 60 MiB, next to 400 files with short ones.
  test('grows with the length of the paths of folders, whatever those of most files are', () => {
    const deep = { ...load(400), folders: 35_000, folderBytes: 35_000 * 1_260 };
    const mib = heapFor(deep) / MIB;
    assert.ok(mib > 45 && mib < 60 * 1.1, `${mib.toFixed(1)} MiB`);
    assert.match(
      memoryProblem(deep, 32 * MIB) ?? '',
      /maps 400 files in 35000 folders with paths of 1260 bytes, for which/,
    );
  });

  // 8,000 files, each at a path of 2,815 bytes, took between 36 and 40 MiB; 2,000 files that are mapped 20 times as much.
  test('grows with what the mappings make of the files', () => {
    const entries = Array.from({ length: 8_000 }, (_, n) => entry(`config/s/${n}`));
    const long = withMappings(load(8_000, 0, 12), [mapping('config', 'd'.repeat(2_805))], entries);
    const times = Array.from({ length: 20 }, (_, n) => mapping('config', `to-${n}`));
    const often = withMappings(load(2_000, 0, 12), times, entries.slice(0, 2_000));
    assert.equal(often.files, 40_000);
    for (const mib of [long, often].map((each) => heapFor(each) / MIB)) {
      assert.ok(mib > 36 && mib < 40 * 1.15, `${mib.toFixed(1)} MiB`);
    }
  });

  test('is the same for a commit and for the manifest that it leads to', () => {
    const entries = Array.from({ length: 500 }, (_, n) => entry(`config/${'f'.repeat(200)}/${n}`));
    const bytes = entries.reduce((sum, { path }) => sum + path.length, 0);
    const listed = withMappings({ ...NO_LOAD, files: 500, pathBytes: bytes }, [mapping('config', 'here')], entries);
    const files = new Map(entries.map(({ path }) => [path, { path: path.replace('config', 'here'), source: path }]));
    const kept = loadOf({ files: files as never, folders: new Set() });
    assert.deepEqual(kept, { ...listed, folderBytes: 0 });
  });

  // With the room for new objects counted in, 72,000 files ended an agent that took them to fit.
  test('may be half of what the container has, whatever V8 sets aside for new objects', async () => {
    const script = 'console.log(v8.getHeapStatistics().heap_size_limit)';
    const limit = execFileSync(process.execPath, [...(await readNodeFlags('agent')), '--eval', script]);
    assert.equal(Number(limit) - NEW_OBJECTS_BYTES, 64 * MIB);
    assert.match(memoryProblem(load(72_000, 0, 19), 64 * MIB) ?? '', /maps 72000 files/);
  });

  test('is told by the figure to set, which suffices', () => {
    const problem = memoryProblem(load(200_000), 128 * MIB) ?? '';
    const [, limit] = /set spec\.agent\.resources\.limits\.memory to (\d+)Mi/.exec(problem) ?? [];
    assert.ok(Number(limit) > 256, problem);
    assert.equal(memoryProblem(load(200_000), (Number(limit) / 2) * MIB), undefined);
  });

  test('is no problem where the heap suffices, to the byte', () => {
    assert.equal(memoryProblem(load(100_000), 128 * MIB), undefined);
    const needed = heapFor(load(100_000, 7));
    assert.equal(memoryProblem(load(100_000, 7), needed), undefined);
    assert.notEqual(memoryProblem(load(100_000, 7), needed - 1), undefined);
  });

  const needs = (files: number, leaving: string, mib: number, limit: number) =>
    `the profile maps ${files} files${leaving}, for which the agent needs about ${mib} MiB: set spec.agent.resources.limits.memory to ${limit}Mi and recreate the pod, or map fewer files`;
  const told: [files: number, leaving: number, problem: string][] = [
    [0, 0, needs(0, '', 32, 128)],
    [100_000, 0, needs(100_000, '', 190, 192)],
    [100_000, 10, needs(100_000, ', and removes 10', 190, 192)],
    [0, 100_000, needs(0, ', and removes 100000', 259, 288)],
  ];
  for (const [files, leaving, problem] of told) {
    test(`is told in steps of 32 MiB, from 128 MiB on: ${files} and ${leaving}`, () => {
      assert.equal(memoryProblem(load(files, leaving), MIB), problem);
    });
  }

  test('is not counted to the end where it is more than eight times what there is', () => {
    const count = { files: 90_000, folders: 10_000, bytes: 3_100_000, folderBytes: 310_000 };
    const heap = heapFor(load(100_000, 0, 31, 10_000)) / 8;
    assert.deepEqual(
      [heap, heap - 1].map((bytes) => isFarTooMuch(count, bytes)),
      [false, true],
    );
    assert.equal(
      farTooMuch(count, 64 * MIB),
      'the profile maps more than 90000 files in 10000 folders, for which the agent would need more than 8 times its memory of 128 MiB: map fewer files',
    );
  });
});
