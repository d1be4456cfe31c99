import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { desiredTree } from '../../../../agent/plan/desired-tree.ts';
import { excludeFilter } from '../../../../agent/plan/exclude-filter.ts';
import type { OwnedFile } from '../../../../agent/plan/manifest.ts';
import type { TreeEntry } from '../../../../agent/plan/plan-input.ts';
import type { Mapping } from '../../../../shared/api/sync.ts';
import { renderMappings } from '../../../../shared/domain/files/render-mappings.ts';
import { slow } from '../../../support/depth.ts';
import { processorMs } from '../../../support/processor-time.ts';
import { ownedFile } from '../support/memory-volume.ts';

type GivenMapping = Pick<Mapping, 'source' | 'destination'> & Partial<Mapping>;

const file = (path: string): TreeEntry => ({ path, kind: 'file', blob: `blob of ${path}`, executable: false });
const link = (path: string): TreeEntry => ({ ...file(path), kind: 'link' });
const submodule = (path: string): TreeEntry => ({ ...file(path), kind: 'submodule' });
const unreadable = (path: string): TreeEntry => ({ ...file(path), kind: 'unreadable' });
const owned = (path: string, source: string) => ownedFile(path, { source });

function build(
  entries: TreeEntry[],
  mappings: GivenMapping[],
  { excludes = [], files = [] }: { excludes?: string[]; files?: OwnedFile[] } = {},
) {
  const given = mappings.map((mapping) => ({ required: true, template: false, ...mapping }));
  const rendered = renderMappings(given, new Map([['GatewayName', 'till-7f9']]));
  if (rendered.kind === 'problems') return { problems: rendered.problems };
  const isExcluded = excludeFilter(excludes);
  const result = desiredTree({ mappings: rendered.mappings, entries, isExcluded, owned: files });
  if (result.kind === 'problems') return { problems: result.problems };
  const { tree } = result;
  return {
    files: Object.fromEntries([...tree.files.values()].map(({ path, source }) => [path, source])),
    retained: [...tree.retained],
  };
}

const repository = [
  file('config/a'),
  file('config/sub/b'),
  file('base/x'),
  file('base/y'),
  file('site/x'),
  file('top'),
];

suite('desiredTree', () => {
  const places: [name: string, mappings: Record<string, string>, files: Record<string, string>][] = [
    [
      'a folder goes below its destination',
      { config: 'data/config' },
      { 'data/config/a': 'config/a', 'data/config/sub/b': 'config/sub/b' },
    ],
    ['a file goes into a folder', { top: 'projects/' }, { 'projects/top': 'top' }],
    ['a file goes into the root, and nothing else there is meant', { 'base/x': '.' }, { x: 'base/x' }],
    ['later mappings lie on top', { base: '.', site: '.' }, { x: 'site/x', y: 'base/y' }],
  ];
  for (const [name, mappings, files] of places) {
    const given = Object.entries(mappings).map(([source, destination]) => ({ source, destination }));
    test(name, () => assert.deepEqual(build(repository, given), { files, retained: [] }));
  }

  const set = { a: '1' };
  /** Unless the mapping says otherwise, it is of `d` to `x`. */
  const refused: { name: string; entries?: TreeEntry[]; mapping?: Partial<Mapping>; problem: RegExp }[] = [
    { name: 'a file as dir', mapping: { source: 'top', type: 'dir' }, problem: /\btop .*\bdir$/ },
    { name: 'a folder as file', mapping: { source: 'base', type: 'file' }, problem: /\bbase .*\bfile$/ },
    { name: 'a link below the source', entries: [link('d/l')], problem: /\bd\/l / },
    {
      name: 'a link on the way to the source, be it optional',
      entries: [link('d')],
      mapping: { source: 'd/etc/passwd', required: false },
      problem: /\bd /,
    },
    { name: 'a submodule', entries: [submodule('d/m')], problem: /\bd\/m .*spec\.git\.submodules/ },
    {
      name: 'a name that is no UTF-8',
      entries: [unreadable('d/�')],
      problem: /^mappings\[0\]: .* d\/� .*UTF-8/,
    },
    {
      name: 'a patch that fits no file of a folder',
      mapping: { source: 'config', patches: [{ file: 'sub/a', set }] },
      problem: /^mappings\[0\]: patches\[0\]\.file: config .* sub\/a$/,
    },
    {
      name: 'a patch of a single file that names another one',
      mapping: { source: 'top', patches: ['', 'top'].map((file) => ({ file, set })) },
      problem: /^mappings\[0\]: patches\[1\]\.file: top .* top$/,
    },
    { name: 'a name that leads out', entries: [file('d/../../x')], problem: /"d\/\.\.\/\.\.\/x" / },
    {
      name: "the agent's own folder in the repository",
      entries: [file('d/.sync-agent/manifest.json')],
      mapping: { destination: '.' },
      problem: / \.sync-agent\/manifest\.json /,
    },
    {
      name: 'a name of more than 255 bytes',
      entries: [file(`d/${'é'.repeat(128)}/x`)],
      mapping: { destination: '.' },
      problem: /é{100}… /,
    },
    {
      name: 'a path that its destination makes too long',
      entries: [file(`d/${'n/'.repeat(1_530)}x`)],
      mapping: { destination: 'in/some/folder' },
      problem: /^mappings\[0\]: in\/some\/folder\/n\/n.*…/,
    },
  ];
  for (const { name, entries = repository, mapping, problem } of refused) {
    const given = { source: 'd', destination: 'x', ...mapping };
    test(`rejects ${name}`, () => assert.match(build(entries, [given]).problems?.join('\n') ?? '', problem));
  }

  test('reports the problem of every mapping, with its number', () => {
    const { problems } = build(repository, [
      { source: 'none', destination: 'x' },
      { source: 'config', destination: 'y' },
      { source: 'gone', destination: 'z' },
    ]);
    assert.deepEqual(problems?.length, 2);
    assert.match(problems.join('; '), /^mappings\[0\]: .* none\b.*; mappings\[2\]: .* gone\b/);
    const inEachOther = ['top', 'base'].map((source) => ({ source, destination: 'p' }));
    const first = build(repository, [...inEachOther, { source: 'none', destination: 'x' }]);
    assert.equal(first.problems?.length, 1, 'a problem of the mappings, before any missing source');
  });

  test("explains how to name the gateway's source", () => {
    const { problems } = build(repository, [{ source: 'gateways/{{ .GatewayName }}', destination: 'x' }]);
    assert.equal(problems?.length, 1);
    assert.match(problems[0] ?? '', / gateways\/till-7f9 \(gateways\/{{ .GatewayName }}\).* sync\.io\/gateway-name/);
  });

  test('contains each file as the commit and the mapping have it', () => {
    const patch = { file: 'a.json', set: { k: '1' } };
    const mapping = { source: 'd', destination: 'x', required: true, template: true, patches: [patch] };
    const rendered = renderMappings([mapping], new Map());
    assert.ok(rendered.kind === 'mappings');
    const entries = [{ ...file('d/a.json'), executable: true }, file('d/sub/b')];
    const result = desiredTree({ mappings: rendered.mappings, entries, isExcluded: () => false, owned: [] });
    assert.ok(result.kind === 'tree');
    const [{ patches, ...recipe } = assert.fail()] = result.tree.files.values();
    assert.deepEqual(recipe, {
      path: 'x/a.json',
      source: 'd/a.json',
      blob: 'blob of d/a.json',
      executable: true,
      template: true,
    });
    assert.deepEqual(patches?.steps, [[{ path: ['k'], json: '1' }]]);
    const { executable, patches: none } = result.tree.files.get('x/sub/b') ?? assert.fail();
    assert.deepEqual([executable, none], [false, undefined]);
    assert.deepEqual([...result.tree.directories], ['x', 'x/sub']);
  });

  test('neither contains nor misses a single file that is excluded', () => {
    assert.deepEqual(build(repository, [{ source: 'top', destination: 'x' }], { excludes: ['top'] }), {
      files: {},
      retained: [],
    });
  });

  const base = { source: 'base', destination: 'p' };
  const gone = { source: 'gone', destination: 'p', required: false };
  for (const [what, mappings, result] of [
    ['only those', [gone], { files: {}, retained: ['p/x', 'p/z'] }],
    ['not below a later layer', [gone, base], { files: { 'p/x': 'base/x', 'p/y': 'base/y' }, retained: ['p/z'] }],
    ['above an earlier layer', [base, gone], { files: { 'p/y': 'base/y' }, retained: ['p/x', 'p/z'] }],
  ] as const) {
    test(`retains the files of a missing optional source, ${what}`, () => {
      const files = [owned('p/x', 'gone/x'), owned('p/z', 'gone/z'), owned('p/o', 'other/o'), owned('q/x', 'gone/x')];
      assert.deepEqual(build(repository, [...mappings], { files }), result);
    });
  }

  test('lets a retained file block a directory', () => {
    const mappings = [
      { source: 'gone', destination: 'p', required: false },
      { source: 'base', destination: 'p/x' },
    ];
    const { problems } = build(repository, mappings, { files: [owned('p/x', 'gone/x')] });
    assert.match(problems?.join('\n') ?? '', /^p\/x .* p\/x\/x .*$/);
  });

  test('lets an excluded file block nothing', () => {
    const entries = [file('d/a'), link('d/l'), submodule('d/m')];
    const result = build(entries, [{ source: 'd', destination: 'x' }], { excludes: ['d/l', 'm'] });
    assert.deepEqual(result.files, { 'x/a': 'd/a' });
  });

  test('rejects many files in the place of directories at once', slow, () => {
    const names = Array.from({ length: 20_000 }, (_, n) => `${n}`);
    const entries = names.flatMap((name) => [file(`a/${name}`), file(`b/${name}/x`)]);
    const began = processorMs();
    const { problems = [] } = build(entries, [
      { source: 'a', destination: 'p' },
      { source: 'b', destination: 'p' },
    ]);
    assert.equal(problems.length, 20_000);
    assert.ok(processorMs() - began < 3_000, `${processorMs() - began} ms`);
  });
});
