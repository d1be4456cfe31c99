import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { placeOf } from '../../../../agent/plan/layering.ts';
import type { Manifest, OwnedFile } from '../../../../agent/plan/manifest.ts';
import { MemoryBudget, NEW_OBJECTS_BYTES } from '../../../../agent/plan/memory-budget.ts';
import { readNodeFlags } from '../../../../scripts/images/read-entry-point.ts';
import { isWithin } from '../../../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../../../shared/domain/files/render-mappings.ts';
import { slow } from '../../../support/depth.ts';
import { fc } from '../../../support/property.ts';

const MIB = 1024 ** 2;
const mapping = (source: string, destination: string): RenderedMapping => ({
  source,
  destination,
  required: true,
  template: false,
  intoDirectory: false,
  type: undefined,
  patches: [],
});
const manifestOf = (places: Map<string, string>): Pick<Manifest, 'files' | 'directories'> => ({
  files: new Map([...places].map(([path, source]) => [path, { path, source } as OwnedFile])),
  directories: new Set(),
});
const NONE = manifestOf(new Map());
const paths = (count: number, length = 31): string[] =>
  Array.from({ length: count }, (_, n) => `${n}/`.padEnd(length, 'x'));
const owning = (all: string[]) => manifestOf(new Map(all.map((path) => [path, path])));

/** Whether the files fit into a heap; the message if they don't. */
function problemOf(
  heapMib: number,
  files: string[],
  given: Partial<ConstructorParameters<typeof MemoryBudget>[1]> = {},
) {
  try {
    const budget = new MemoryBudget(heapMib * MIB, { manifest: NONE, ...given });
    for (const path of files) budget.take(path, 'file');
    return undefined;
  } catch (error) {
    return String((error as Error).message);
  }
}

/** Files, the length of their paths, and the smallest heap (MiB) in which a sync succeeded that changed all of them. */
const MEASURED = [
  [20_000, 31, 39],
  [50_000, 31, 82],
  [20_000, 108, 41],
] as const;

suite('the memory that a sync needs', () => {
  for (const [files, length, succeeds] of MEASURED) {
    test(`is refused before V8 runs out of it: ${files} files with paths of ${length} bytes`, () => {
      assert.ok(problemOf(succeeds, paths(files, length)), 'too early is better than too late');
      assert.equal(problemOf(succeeds * 1.4, paths(files, length)), undefined);
    });
  }

  test('is reported with the number of files so far and the limit to raise', slow, () => {
    const message = problemOf(64, paths(200_000)) ?? '';
    assert.match(message, / \d{5} .* 0 .* spec\.agent\.resources\.limits\.memory /);
    const replaced = problemOf(64, paths(200_000), { manifest: owning(paths(5_000, 32)) }) ?? '';
    assert.match(replaced, / 5000 /);
  });

  test('includes a file once per mapping, by the longer of its two paths', () => {
    const files = paths(4_000).map((path) => `config/${path}`);
    const often = Array.from({ length: 20 }, (_, n) => mapping('config', `to-${n}`));
    assert.equal(problemOf(64, files, { mappings: often.slice(0, 5) }), undefined);
    assert.match(problemOf(64, files, { mappings: often }) ?? '', / [23]\d{4} /);
    assert.equal(problemOf(64, files, { mappings: [mapping('config', 'here')] }), undefined);
    assert.ok(problemOf(64, files, { mappings: [mapping('config', 'd'.repeat(3_000))] }));
  });

  test('includes directories, even empty ones', slow, () => {
    const budget = new MemoryBudget(64 * MIB, { manifest: NONE });
    assert.throws(
      () => {
        for (const path of paths(1_000_000)) budget.take(path, 'directory');
      },
      { code: 'sync.TooManyFiles', message: / 0 .* \d{6} / },
    );
  });

  test("includes removed files, and a manifest that doesn't fit by itself is refused", slow, () => {
    const manifest = owning(paths(20_000));
    assert.equal(problemOf(64, paths(10_000, 40), { manifest }), undefined);
    assert.ok(problemOf(64, paths(20_000, 40), { manifest }));
    assert.match(problemOf(64, [], { manifest: owning(paths(60_000)) }) ?? '', /more than 0 files/);
  });

  test('is the same for the first sync of a commit as later, so delivered commits stay deliverable', () => {
    const name = fc.string({ minLength: 1, maxLength: 9, unit: fc.constantFrom('a', 'b', 'c') });
    const file = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
    const directory = fc.array(name, { maxLength: 2 }).map((names) => names.join('/'));
    const layers = fc.array(fc.tuple(directory, directory), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.uniqueArray(file, { minLength: 1 }), layers, (files, pairs) => {
        const mappings = pairs.map(([source, destination]) => mapping(source, destination));
        const places = new Map<string, string>();
        for (const each of mappings) {
          for (const path of files) if (isWithin(path, each.source)) places.set(placeOf(path, each).destination, path);
        }
        const after = manifestOf(places);
        for (let kib = 0; kib < 100; kib += 2) {
          const isFirst = problemOf(16 + kib / 1024, files, { mappings }) === undefined;
          const isNext = problemOf(16 + kib / 1024, files, { mappings, manifest: after }) === undefined;
          assert.ok(isNext || !isFirst, `${kib} KiB`);
        }
      }),
    );
  });

  test("can be half of the container's limit, whatever V8 reserves for new objects", async () => {
    const script = 'console.log(v8.getHeapStatistics().heap_size_limit)';
    const limit = execFileSync(process.execPath, [...(await readNodeFlags('agent')), '--eval', script]);
    assert.equal(Number(limit) - NEW_OBJECTS_BYTES, 64 * MIB);
  });
});
