import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { desiredTree } from '../../../../agent/plan/desired-tree.ts';
import { excludeFilter } from '../../../../agent/plan/exclude-filter.ts';
import type { OwnedFile } from '../../../../agent/plan/manifest.ts';
import type { TreeEntry } from '../../../../agent/plan/plan-input.ts';
import type { Mapping } from '../../../../shared/api/sync.ts';
import { renderMappings } from '../../../../shared/domain/render-mappings.ts';
import { processorMs } from '../../../support/processor-time.ts';

type GivenMapping = Pick<Mapping, 'source' | 'destination'> & Partial<Mapping>;

const file = (path: string): TreeEntry => ({ path, kind: 'file', blob: `blob of ${path}`, executable: false });
const link = (path: string): TreeEntry => ({ ...file(path), kind: 'link' });
const submodule = (path: string): TreeEntry => ({ ...file(path), kind: 'submodule' });
const owned = (path: string, source: string): OwnedFile => ({
  path,
  source,
  blob: 'b',
  sha256: 's',
  executable: false,
  fingerprint: { size: 1, mtimeMs: 1, ino: 1 },
});

function build(
  entries: TreeEntry[],
  mappings: GivenMapping[],
  { excludes = [], files = [] }: { excludes?: string[]; files?: OwnedFile[] } = {},
) {
  const given = mappings.map((mapping) => ({ required: true, template: false, ...mapping }));
  const rendered = renderMappings(given, new Map());
  if (rendered.kind === 'problems') return { problems: rendered.problems };
  const isExcluded = excludeFilter(excludes);
  const result = desiredTree({ mappings: rendered.mappings, entries, isExcluded, owned: files });
  if (result.kind === 'problems') return { problems: result.problems };
  const { tree } = result;
  return {
    files: Object.fromEntries([...tree.files.values()].map(({ path, source }) => [path, source])),
    kept: [...tree.kept],
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
  const places: { name: string; mappings: GivenMapping[]; files: Record<string, string> }[] = [
    {
      name: 'a folder goes below its destination',
      mappings: [{ source: 'config', destination: 'data/config' }],
      files: { 'data/config/a': 'config/a', 'data/config/sub/b': 'config/sub/b' },
    },
    {
      name: 'a folder goes to the root',
      mappings: [{ source: 'config/', destination: '.' }],
      files: { a: 'config/a', 'sub/b': 'config/sub/b' },
    },
    {
      name: 'a file gets the name of the destination',
      mappings: [{ source: 'top', destination: './x' }],
      files: { x: 'top' },
    },
    {
      name: 'a file goes into a folder',
      mappings: [{ source: 'top', destination: 'projects/' }],
      files: { 'projects/top': 'top' },
    },
    {
      name: 'a file goes into the root, and nothing else there is meant',
      mappings: [{ source: 'base/x', destination: '.' }],
      files: { x: 'base/x' },
    },
    {
      name: 'later mappings lie on top',
      mappings: [
        { source: 'base', destination: '.' },
        { source: 'site', destination: '.' },
      ],
      files: { x: 'site/x', y: 'base/y' },
    },
    {
      name: 'destinations may be nested',
      mappings: [
        { source: 'base', destination: 'p' },
        { source: 'site', destination: 'p/site' },
      ],
      files: { 'p/x': 'base/x', 'p/y': 'base/y', 'p/site/x': 'site/x' },
    },
    {
      name: 'an optional source that is missing brings nothing',
      mappings: [
        { source: 'top', destination: 'top' },
        { source: 'none', destination: 'p', required: false },
      ],
      files: { top: 'top' },
    },
  ];
  for (const { name, mappings, files } of places) {
    test(name, () => assert.deepEqual(build(repository, mappings), { files, kept: [] }));
  }

  test('the whole repository can be mapped', () => {
    const { files } = build(repository, [{ source: '.', destination: '.' }]);
    assert.deepEqual(
      Object.keys(files ?? {}),
      repository.map(({ path }) => path),
    );
  });

  const refused: { name: string; entries?: TreeEntry[]; mapping: GivenMapping; problem: RegExp }[] = [
    { name: 'a missing source', mapping: { source: 'none', destination: 'x' }, problem: /no none/ },
    {
      name: 'a file as dir',
      mapping: { source: 'top', destination: 'x', type: 'dir' },
      problem: /top is a file, and type says dir/,
    },
    {
      name: 'a folder as file',
      mapping: { source: 'base', destination: 'x', type: 'file' },
      problem: /base is a folder/,
    },
    {
      name: 'a link as the source',
      entries: [link('l')],
      mapping: { source: 'l', destination: 'x' },
      problem: /symbolic link/,
    },
    {
      name: 'a link below the source',
      entries: [link('d/l')],
      mapping: { source: 'd', destination: 'x' },
      problem: /d\/l is a symbolic link/,
    },
    {
      name: 'a link on the way to the source, be it optional',
      entries: [link('d')],
      mapping: { source: 'd/etc/passwd', destination: 'x', required: false },
      problem: /d is a symbolic link/,
    },
    {
      name: 'a submodule',
      entries: [submodule('d/m')],
      mapping: { source: 'd', destination: 'x' },
      problem: /d\/m is a submodule/,
    },
    {
      name: 'a name that leads out',
      entries: [file('d/../../x')],
      mapping: { source: 'd', destination: 'x' },
      problem: /no name for a file/,
    },
    {
      name: "the agent's own folder in the repository",
      entries: [file('d/.sync-agent/manifest.json')],
      mapping: { source: 'd', destination: '.' },
      problem: /agent's own files/,
    },
    {
      name: 'a name of more than 255 bytes',
      entries: [file(`d/${'é'.repeat(128)}/x`)],
      mapping: { source: 'd', destination: '.' },
      problem: /é{100}… is too long/,
    },
    {
      name: 'a path that its destination makes too long',
      entries: [file(`d/${'n/'.repeat(1_530)}x`)],
      mapping: { source: 'd', destination: 'in/some/folder' },
      problem: /^mappings\[0\]: in\/some\/folder\/n\/n.* is too long/,
    },
  ];
  for (const { name, entries = repository, mapping, problem } of refused) {
    test(`refuses ${name}`, () => assert.match(build(entries, [mapping]).problems?.join('\n') ?? '', problem));
  }

  test('what is excluded is no obstacle', () => {
    const entries = [file('d/a'), link('d/l'), submodule('d/m')];
    const result = build(entries, [{ source: 'd', destination: 'x' }], { excludes: ['d/l', 'm'] });
    assert.deepEqual(result.files, { 'x/a': 'd/a' });
  });

  test('a file where another mapping needs a folder is refused', () => {
    const result = build(repository, [
      { source: 'top', destination: 'p' },
      { source: 'base', destination: 'p' },
    ]);
    assert.match(result.problems?.join('\n') ?? '', /p would have to be a file and, for p\/x, a folder/);
  });

  test('many files where folders are needed are refused in no time', () => {
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

  test('a missing optional source keeps what it brought, and only that', () => {
    const files = [owned('p/x', 'gone/x'), owned('p/y', 'other/y'), owned('q/x', 'gone/x')];
    const result = build(repository, [{ source: 'gone', destination: 'p', required: false }], { files });
    assert.deepEqual(result, { files: {}, kept: ['p/x'] });
  });

  test('what a missing optional source brought stays on top of an earlier mapping', () => {
    const mappings = [
      { source: 'base', destination: '.' },
      { source: 'gone', destination: '.', required: false },
    ];
    const result = build(repository, mappings, { files: [owned('x', 'gone/x')] });
    assert.deepEqual(result, { files: { y: 'base/y' }, kept: ['x'] });
  });
});
