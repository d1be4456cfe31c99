import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { desiredTree } from '../../../../agent/plan/desired-tree.ts';
import { excludeFilter } from '../../../../agent/plan/exclude-filter.ts';
import { emptyManifest, type MutableManifest } from '../../../../agent/plan/manifest.ts';
import { narrowChange } from '../../../../agent/plan/narrow-change.ts';
import type { DesiredTree, TreeChange, TreeEntry } from '../../../../agent/plan/plan-input.ts';
import { inputsHash } from '../../../../agent/plan/template-values.ts';
import type { Mapping } from '../../../../shared/api/sync.ts';
import { renderMappings } from '../../../../shared/domain/files/render-mappings.ts';
import { fc, runs } from '../../../support/property.ts';
import { withoutOverlaps } from '../support/without-overlaps.ts';

type Files = Record<string, string>;
type GivenMapping = Pick<Mapping, 'source' | 'destination'> & Partial<Mapping>;

/** `->` makes a link, `#!` an executable file; the content is the id of the blob. */
function entryOf(path: string, content: string): TreeEntry {
  const kind = content.startsWith('->') ? 'link' : 'file';
  return { path, kind, blob: content, executable: content.startsWith('#!') };
}

const entriesOf = (files: Files) => Object.entries(files).map(([path, content]) => entryOf(path, content));

function diff(before: Files, after: Files): TreeChange[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].flatMap((path) => {
    if (before[path] === after[path]) return [];
    const side = (files: Files) => (files[path] === undefined ? undefined : entryOf(path, files[path]));
    return [{ path, before: side(before), after: side(after) }];
  });
}

/** Returns the manifest of a sync without changes by others; templates use the commit. */
function manifestOf({ files, directories }: DesiredTree, commit: string): MutableManifest {
  const manifest = emptyManifest();
  manifest.applied = { ref: 'main', commit, time: 't' };
  for (const { template, patches, ...file } of files.values()) {
    const inputs = template ? { keys: ['Commit'], hash: inputsHash(['Commit'], valuesAt(commit)) } : undefined;
    const rest = { sha256: 's', fingerprint: { size: 1, mtimeMs: 1, ino: 1 } };
    manifest.files.set(file.path, { ...file, ...rest, inputs, patches: patches?.hash });
  }
  for (const directory of directories) manifest.directories.add(directory);
  return manifest;
}

const valuesAt = (commit: string) => new Map([['Commit', commit]]);

interface Step {
  before: Files;
  after: Files;
  mappings: GivenMapping[];
  excludes?: readonly string[];
  prune?: boolean;
}

/** Lays out both commits as a whole, and narrows the second to its difference from the first. */
function narrow({ before, after, mappings, excludes = [], prune = true }: Step) {
  const given = mappings.map((mapping) => ({ required: true, template: false, ...mapping }));
  const rendered = renderMappings(given, new Map());
  assert.ok(rendered.kind === 'mappings');
  const isExcluded = excludeFilter([...excludes]);
  const common = { mappings: rendered.mappings, isExcluded };
  const first = desiredTree({ ...common, entries: entriesOf(before), owned: [] });
  if (first.kind === 'problems') return undefined;
  const manifest = manifestOf(first.tree, 'first');
  const second = desiredTree({ ...common, entries: entriesOf(after), owned: manifest.files.values() });
  const changes = diff(before, after);
  const narrowed = narrowChange({ ...common, changes, manifest, values: valuesAt('second'), prune });
  return { manifest, second, narrowed };
}

const recipes = ({ files }: DesiredTree) =>
  [...files.values()].map((file) => ({ ...file, patches: file.patches?.hash }));

/** Compares the narrowed input with the whole: with its omitted part, it must be the same tree. */
function compare(step: Step): 'narrow' | 'whole' | 'nothing' {
  const result = narrow(step);
  if (!result) return 'nothing';
  const { manifest, second, narrowed } = result;
  if (!narrowed) return 'whole';
  assert.ok(second.kind === 'tree', 'a commit that cannot be laid out is never narrowed');
  const left = [...manifest.files.values()].filter(({ path }) => !narrowed.manifest.files.has(path));
  assert.equal(narrowed.untouched, left.length);
  const untouched = left.map(({ path, source, blob, executable, mode, inputs, patches }) => {
    assert.equal(inputs, undefined, 'a template whose value changed takes part');
    return { path, source, blob, executable, template: false, patches, ...(mode !== undefined && { mode }) };
  });
  const all = [...untouched, ...recipes(narrowed.desired)].map((file) => [file.path, file] as const);
  assert.deepEqual(new Map(all), new Map(recipes(second.tree).map((file) => [file.path, file])));
  const unneeded = [...manifest.directories].filter((directory) => !second.tree.directories.has(directory));
  const emptied = [...narrowed.manifest.directories].filter(
    (directory) => !narrowed.desired.directories.has(directory),
  );
  assert.deepEqual(emptied.sort(), unneeded.sort());
  return 'narrow';
}

const cases: (Step & { name: string; concerned: string[] })[] = [
  {
    name: 'files that change, come, or go, but not what is excluded, not mapped, or below another layer',
    before: { 'base/x': '1', 'base/y': '1', 'site/x': '1', 'a/x': '1', 'a/m': '1', 'a/x.bak': '1', other: '1' },
    after: { 'base/x': '2', 'base/y': '2', 'site/x': '1', 'a/n/z': '1', 'a/m': '#!', 'a/x.bak': '2', other: '2' },
    mappings: [
      { source: 'base', destination: 'l' },
      { source: 'site', destination: 'l' },
      { source: 'a', destination: 'd' },
    ],
    excludes: ['*.bak'],
    concerned: ['d/m', 'd/n/z', 'd/x', 'l/y'],
  },
  {
    name: 'a template that names the commit, though it did not change',
    before: { 't/x': '1', 'a/y': '1' },
    after: { 't/x': '1', 'a/y': '2' },
    mappings: [
      { source: 't', destination: 't', template: true },
      { source: 'a', destination: 'a' },
    ],
    concerned: ['a/y', 't/x'],
  },
];

const whole: (Step & { name: string })[] = [
  {
    name: 'a link comes',
    before: { 'a/x': '1' },
    after: { 'a/x': '1', 'a/l': '->x' },
    mappings: [{ source: 'a', destination: 'a' }],
  },
  {
    name: 'a template changes that prune: false may have kept from an earlier commit',
    before: { 'a/x': '1', 'a/y': '1' },
    after: { 'a/x': '1', 'a/y': '2' },
    mappings: [{ source: 'a', destination: 'a', template: true }],
    prune: false,
  },
  {
    name: 'a template changes that an optional source may have left behind',
    before: { 'a/x': '1', 'b/y': '1' },
    after: { 'a/x': '1', 'b/y': '2' },
    mappings: [
      { source: 'a', destination: 'a', template: true, required: false },
      { source: 'b', destination: 'b' },
    ],
  },
];

suite('narrowChange', () => {
  for (const { name, concerned, ...step } of cases) {
    test(`finds ${name}`, () => {
      assert.equal(compare(step), 'narrow');
      const { desired, manifest } = narrow(step)?.narrowed ?? assert.fail();
      assert.deepEqual([...new Set([...desired.files.keys(), ...manifest.files.keys()])].sort(), concerned);
    });
  }

  for (const { name, ...step } of whole) {
    test(`leaves it to the full comparison if ${name}`, () => assert.equal(compare(step), 'whole'));
  }

  const part = fc.constantFrom('a', 'b', 'x.json');
  const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  const tree = fc
    .dictionary(path, fc.constantFrom('1', '1', '2', '3', '#!'), { maxKeys: 8, noNullPrototype: true })
    .map(withoutOverlaps);
  const mapping = fc.record(
    {
      source: fc.constantFrom('.', 'a', 'b', 'a/b', 'a/x.json'),
      destination: fc.constantFrom('.', 'a', 'a/', 'd'),
      required: fc.boolean(),
      template: fc.boolean(),
      mode: fc.constantFrom('0600', '0755'),
      patches: fc.constantFrom<Mapping['patches'][]>([], [], [{ file: '**/*.json', set: { a: '1' } }]),
    },
    { requiredKeys: ['source', 'destination'], noNullPrototype: true },
  );
  const step = fc.record({
    before: tree,
    after: tree,
    mappings: fc.array(mapping, { minLength: 1, maxLength: 3 }),
    excludes: fc.constantFrom([], ['b'], ['*.json', '!a/x.json']),
  });

  test('agrees with the full comparison for any two commits, or leaves it to that', () => {
    const seen = { narrow: 0, whole: 0, nothing: 0 };
    fc.assert(
      fc.property(step, fc.boolean(), (given, isSimilar) => {
        const after = isSimilar
          ? { ...given.before, ...Object.fromEntries(Object.entries(given.after).slice(0, 1)) }
          : given.after;
        if (isDeepStrictEqual(after, withoutOverlaps(after))) seen[compare({ ...given, after })] += 1;
      }),
      { numRuns: runs(3000) },
    );
    assert.ok(seen.narrow > runs(100), JSON.stringify(seen));
  });
});
