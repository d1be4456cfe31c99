import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { directoriesOf } from '../../../../agent/plan/directories.ts';
import { excludeFilter } from '../../../../agent/plan/exclude-filter.ts';
import { excludePattern } from '../../../../agent/plan/links/describe-broken-links.ts';
import { ABSOLUTE, EMPTY, NOT_UTF8, TOO_MUCH_TEXT } from '../../../../agent/plan/links/link-text.ts';
import {
  CYCLE,
  DANGLING,
  OUTSIDE,
  outsideModule,
  TOO_DEEP,
  TOO_LONG,
  unfetched,
} from '../../../../agent/plan/links/path-walk.ts';
import { MemoryBudget } from '../../../../agent/plan/memory-budget.ts';
import { slow } from '../../../support/depth.ts';
import { processorMs } from '../../../support/processor-time.ts';
import { fc, runs } from '../../../support/property.ts';
import { followLinksIn, type Tree } from '../support/follow-links-in.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';
import { withoutOverlaps } from '../support/without-overlaps.ts';

const link = (text: string | Buffer) => ({ link: text });

suite('links are followed', () => {
  const followed: {
    name: string;
    tree: Tree;
    sources?: string[];
    excludes?: string[];
    files: Record<string, string>;
  }[] = [
    {
      name: 'through a link to a directory, with .. after it as on Linux',
      tree: { 'd/l': link('../now/../x'), now: link('v/2'), 'v/2/a': 'file', 'v/x': 'file', x: 'file' },
      sources: ['d'],
      files: { 'd/l': 'v/x' },
    },
    {
      name: 'above a source, without what is next to it',
      tree: { now: link('v'), 'v/2/a': 'file', 'v/3/b': 'file', 'v/l': link('/etc') },
      sources: ['now/2'],
      files: { 'now/2/a': 'v/2/a' },
    },
    {
      name: 'once, if sources are inside each other',
      tree: { 'd/l': link('../a'), a: 'file', 'd/e/x': 'file' },
      sources: ['d/l', 'd', 'd/e'],
      files: { 'd/e/x': 'd/e/x', 'd/l': 'a' },
    },
    {
      name: 'unless they are excluded by the path that leads to them',
      tree: { 'd/l': link('/etc'), 'd/m': link('../e'), 'e/l': link('/etc'), 'e/a': 'file' },
      sources: ['d'],
      excludes: ['/d/l', '/d/m/l', '/e/'],
      files: { 'd/m/a': 'e/a' },
    },
    {
      name: 'unless they are excluded above a source',
      tree: { now: link('nowhere'), a: 'file' },
      sources: ['now/a', 'a'],
      excludes: ['/now'],
      files: { a: 'a' },
    },
  ];
  for (const { name, tree, sources = [''], excludes = [], files } of followed) {
    test(name, () => {
      const result = followLinksIn(tree, { sources, excludes });
      assert.deepEqual(result.broken, []);
      assert.deepEqual(result.files, files);
    });
  }

  test('with the mode of the target', () => {
    const { entries } = followLinksIn({ 'd/l': link('../run'), run: 'executable' }, { sources: ['d'] });
    assert.deepEqual(entries, [{ path: 'd/l', kind: 'file', blob: 'blob of run', executable: true, target: 'run' }]);
  });

  test('level by level, without other parts of the commit', () => {
    const chain = Array.from({ length: 39 }, (_, n) => [`x/${n}`, link(`../x/${n + 1}`)] as const);
    const tree: Tree = { 'd/l': link('../x/0'), ...Object.fromEntries(chain), 'x/39': 'file', 'other/a': 'file' };
    const { files, levels } = followLinksIn(tree, { sources: ['d'] });
    assert.deepEqual([files, levels], [{ 'd/l': 'x/39' }, 40]);
  });
});

suite('links are errors', () => {
  const long = `${'a'.repeat(256)}/b`;
  const chain = Array.from({ length: 41 }, (_, n) => [`x/${n}`, link(`${n + 1}`)] as const);
  const broken: [name: string, tree: Tree, reason: string, source?: string][] = [
    ['with an absolute path', { l: link('/etc/passwd') }, `l: ${ABSOLUTE}`],
    ['out of the repository and back', { 'd/l': link('../../root/d/a'), 'd/a': 'file' }, `d/l: ${OUTSIDE}`],
    ['to nothing', { l: link('none') }, `l: ${DANGLING}`],
    ['without a text', { l: link('') }, `l: ${EMPTY}`],
    ['to a path that is too long', { l: link('a'.repeat(4_095)) }, `l: ${TOO_LONG}`],
    ['to a name that is too long, even if it exists', { l: link(long), [long]: 'file' }, `l: ${TOO_LONG}`],
    ['with a text that is too long', { l: link('./'.repeat(2_048)) }, `l: ${TOO_MUCH_TEXT}`],
    ['with a text that is no UTF-8', { l: link(Buffer.from([0xff])), '\ufffd': 'file' }, `l: ${NOT_UTF8}`],
    ['to their own directory', { 'd/l': link('.'), 'd/a': 'file' }, `d/l: ${CYCLE}`],
    ['because of another link', { 'd/l': link('../m/x'), m: link('/etc') }, `d/l: through m: ${ABSOLUTE}`, 'd'],
    [
      'if they lead through more than 40 others',
      { ...Object.fromEntries(chain), 'x/41': 'file' },
      `x/0: ${TOO_DEEP}`,
      'x/0',
    ],
    [
      'if they lead through the same link more than 40 times, but not back',
      { l: link(`${'m/../'.repeat(41)}d/a`), m: link('d'), 'd/a': 'file' },
      `l: ${TOO_DEEP}`,
      'l',
    ],
    [
      'into a submodule that is not fetched',
      { l: link('lib/a'), lib: { submodule: true } },
      `l: ${unfetched('lib')}`,
      'l',
    ],
  ];
  test('a broken link above several sources is named once', () => {
    const { broken, message } = followLinksIn({ now: { link: 'gone' } }, { sources: ['now/a', 'now/b', 'now/c'] });
    assert.equal(broken.length, 1);
    assert.match(message, /: now -> gone \([^)]*\)$/);
  });

  for (const [name, tree, reason, source = ''] of broken) {
    test(name, () => assert.deepEqual(followLinksIn(tree, { sources: [source] }).broken, [reason]));
  }

  test('out of their submodule, but into a submodule they are followed', () => {
    const tree: Tree = { l: link('lib/in'), 'lib/in': 'file', 'lib/out': link('../a'), a: 'file' };
    const { files, broken } = followLinksIn(tree, { submodules: true, modules: ['lib'] });
    assert.deepEqual(files, { a: 'a', l: 'lib/in', 'lib/in': 'lib/in' });
    assert.deepEqual(broken, [`lib/out: ${outsideModule('lib')}`]);
  });

  test('that name five of many, with the patterns that exclude them', () => {
    const names = ['a [1]', 'b*', 'c{d,e}', 'f\\g ', 'h', 'i', 'j'];
    const tree = Object.fromEntries(names.map((name) => [`d/${name}`, link('/none')]));
    const { message } = followLinksIn(tree, { sources: ['d'] });
    assert.match(message, / excludePatterns: d\/a \[1\] -> \/none .*, d\/b\* -> .* 2 more$/);
    const patterns = JSON.parse(message.replace(/^.* add (".*") to excludePatterns: .*$/, '[$1]')) as string[];
    assert.equal(patterns.length, 5);
    assert.deepEqual(followLinksIn(tree, { sources: ['d'], excludes: [...patterns, '/d/[ij]'] }).broken, []);
  });

  test('whose message shows all patterns, and the end of a target, even if paths and texts are long', () => {
    const names = Array.from({ length: 9 }, (_, n) => `${n}`.repeat(100));
    const tree = Object.fromEntries(names.map((name) => [`d/${name}`, link(`/none/${'x'.repeat(2_000)}`)]));
    const { message } = followLinksIn(tree, { sources: ['d'] });
    assert.ok(message.indexOf('to excludePatterns') < 1_024 && message.length < 1_600, message);
    const single = followLinksIn({ l: link(`${'directory/'.repeat(20)}missing.conf`) });
    assert.match(single.message, /l -> directory\/directory\/….*\/directory\/missing\.conf /);
  });

  test('whose message quotes control characters in all names', () => {
    const tree = { 'd/l': link('../a\n'), 'a\n': link(Buffer.from([0xff])) };
    const { message } = followLinksIn(tree, { sources: ['d'] });
    assert.match(message, /d\/l -> "\.\.\/a\\n" \("through a\\n: .*"\)$/);
  });

  test('whose exclude pattern excludes exactly the link', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !/[/\0]|^\.{1,2}$/.test(text));
    fc.assert(
      fc.property(name, name, (one, other) => {
        const isExcluded = excludeFilter([excludePattern(`d/${one}`)]);
        assert.equal(isExcluded(`d/${one}`), true);
        if (!/\s$/u.test(one)) assert.equal(isExcluded(`d/${other}`), one === other);
      }),
    );
  });
});

suite('the copies of links', () => {
  /** Each directory has two links to the next one, so each level doubles the number of files. */
  const doubling = (levels: number): Tree => {
    const tree: Tree = { [`d${levels}/a`]: 'file' };
    for (let level = 0; level < levels; level += 1) {
      for (const name of ['l', 'm']) tree[`d${level}/${name}`] = link(`../d${level + 1}`);
    }
    return tree;
  };

  test('are limited', slow, () => {
    const began = processorMs();
    assert.throws(() => followLinksIn(doubling(39), { sources: ['d0'] }), {
      code: 'sync.TooManyLinks',
      message: / 100000 /,
    });
    assert.ok(processorMs() - began < 5_000, `${processorMs() - began} ms`);
    assert.equal(Object.keys(followLinksIn(doubling(14), { sources: ['d0'] }).files).length, 2 ** 14);
  });

  test('are limited even before it is known where they lead', slow, () => {
    const tree: Tree = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`d/${n}`, link('../e')]));
    for (let n = 0; n < 400; n += 1) tree[`e/${n}`] = link(`../other/${n}`);
    assert.throws(() => followLinksIn(tree, { sources: ['d'] }), { code: 'sync.TooManyLinks' });
  });

  test('are counted as memory while they are laid out', () => {
    const manifest = { files: new Map(), directories: new Set<string>() };
    const take = (levels: number) => {
      const { take: onCopy } = new MemoryBudget(20 * 1024 ** 2, { manifest });
      return followLinksIn(doubling(levels), { sources: ['d0'], onCopy });
    };
    assert.throws(() => take(13), { code: 'sync.TooManyFiles' });
    assert.equal(Object.keys(take(8).files).length, 2 ** 8);
  });

  test('fit into the heap of a small container', slow, async () => {
    const output = await runInSmallHeap(`
      import { followLinksIn } from ${importable('tests/unit/agent/support/follow-links-in.ts')};
      import { MemoryBudget } from ${importable('agent/plan/memory-budget.ts')};
      const wide = (next) => Array.from({ length: 400 }, (_, n) => ['d/' + n, { link: next }]);
      const below = (link) => Array.from({ length: 400 }, (_, n) => ['e/' + 'x'.repeat(200) + n, link(n)]);
      const trees = [
        [...wide('../e'), ...below((n) => ({ link: '../f/' + n }))],
        [...wide('../e'), ...below(() => ({ link: '/none' }))],
        [...wide('../e'), ...below(() => 'file')],
      ];
      for (const tree of trees) {
        const { take: onCopy } = new MemoryBudget(58 * 1024 ** 2, { manifest: { files: new Map(), directories: new Set() } });
        try {
          followLinksIn(Object.fromEntries(tree), { sources: ['d'], onCopy });
        } catch ({ code }) {
          console.log(code);
        }
      }`);
    assert.deepEqual(output.split('\n'), ['sync.TooManyLinks', 'sync.TooManyLinks', 'sync.TooManyFiles']);
  });

  test('include every directory once', () => {
    const tree: Tree = { 'd/l': link('../e'), 'e/a': 'file', 'e/b/c/x': 'file', 'e/b/y': 'file', 'e/b.z/w': 'file' };
    const seen: string[] = [];
    followLinksIn(tree, { sources: ['d'], onCopy: (at, kind) => void (kind === 'directory' && seen.push(at)) });
    assert.deepEqual(seen.sort(), ['d/l', 'd/l/b', 'd/l/b.z', 'd/l/b/c']);
  });

  test('need little time even if paths and texts are long', slow, () => {
    const deep = `${'y'.repeat(22)}/`.repeat(126);
    const dots = './'.repeat(2_000);
    const many = (count: number, entries: (n: number) => Tree): Tree =>
      Object.assign({}, ...Array.from({ length: count }, (_, n) => entries(n)));
    const chain = many(40, (n) => ({ [`e/${n}`]: link(`${n + 1}/${dots}`) }));
    const trees: { [name: string]: Tree } = {
      'paths that exist': many(5_000, (n) => ({ [`d/${n}`]: link(`../e/${deep}${n}`), [`e/${deep}${n}`]: 'file' })),
      'paths that are missing': many(1_000, (n) => ({ [`d/${n}`]: link(`../${n}/${deep}`) })),
      'paths in copied directories': many(300, (n) => ({ [`d/${n}`]: link('../e'), [`e/${deep}${n}`]: 'file' })),
      'names after a link': { ...chain, ...many(300, (n) => ({ [`d/${n}`]: link(`../e/0/${dots}`) })) },
    };
    for (const [name, tree] of Object.entries(trees)) {
      const began = processorMs();
      try {
        followLinksIn(tree, { sources: ['d', 'e'] });
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'sync.TooManyLinks', name);
      }
      assert.ok(processorMs() - began < 5_000, `${name}: ${processorMs() - began} ms`);
    }
  });

  test('need texts with few names', () => {
    const text = `${'./'.repeat(2_000)}a`;
    const tree: Tree = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`l${n}`, link(text)]));
    assert.throws(() => followLinksIn({ ...tree, a: 'file' }), { code: 'sync.TooManyLinks' });
  });
});

suite('any tree', () => {
  const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom('a', 'b', 'c') }, fc.constantFrom('a\n', '\ufffd'));
  const at = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
  const text = fc.oneof(
    fc
      .array(fc.constantFrom('a', 'b', 'c', '..', '..', '.', ''), { minLength: 1, maxLength: 5 })
      .map((parts) => parts.join('/')),
    fc.constantFrom('/a', '../../../..', 'a/../b', 'a\n', '\ufffd/a', `${'./'.repeat(2_000)}b`, 'x'.repeat(256)),
  );
  const trees = fc.dictionary(at, fc.oneof(fc.constant('file' as const), text.filter(Boolean).map(link)), {
    maxKeys: 9,
  });

  test('leads to the same files as on Linux, and to errors if it leads nowhere, outside, or in circles', () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'links-'));
    let delivered = 0;
    let refused = 0;
    try {
      fc.assert(
        fc.property(trees, fc.constantFrom('', 'a', 'a/b'), (given, source) => {
          const tree = withoutOverlaps(given);
          const root = path.join(directory, 'root');
          write(root, tree);
          const expected = readLinked(root, source);
          rmSync(root, { recursive: true, force: true });
          const { files, broken } = followLinksIn(tree, { sources: [source] });
          assert.equal(broken.length > 0, expected === 'broken', JSON.stringify(broken));
          if (expected !== 'broken') assert.deepEqual(sorted(files), sorted(expected));
          if (expected === 'broken') refused += 1;
          else if (Object.keys(files).length > 0) delivered += 1;
        }),
        { numRuns: runs(1_500) },
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
    assert.ok(delivered > runs(100) && refused > runs(100), `${delivered} delivered, ${refused} refused`);
  });

  test('of a hostile author leads to its own files or to a short error, soon', slow, () => {
    const names = ['a', 'b', 'c', 'a\n', '\ufffd', 'x'.repeat(256), '\u202e', 'a'.repeat(250)];
    const part = fc.oneof(fc.constantFrom(...names), fc.constantFrom('..', '..', '.', ''));
    const path = (maxLength: number) => fc.array(part, { minLength: 1, maxLength }).map((parts) => parts.join('/'));
    const repeated = fc.tuple(path(3), fc.integer({ min: 1, max: 4_096 }));
    const text = fc.oneof(
      path(6),
      repeated.map(([parts, bytes]) => `${parts}/`.repeat(bytes).slice(0, bytes)),
      fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
    );
    const entry = fc.oneof(fc.constantFrom('file' as const, { submodule: true } as const), text.map(link));
    const place = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
    /** Links to each other, with a given text in front of each. */
    const chain = fc.tuple(fc.integer({ min: 30, max: 50 }), fc.constantFrom('', './', 'c/../', './'.repeat(2_000)));
    const outcomes = { delivered: 0, broken: 0, limited: 0 };
    const tree = fc.tuple(fc.dictionary(place, entry, { maxKeys: 30 }), fc.option(chain));
    fc.assert(
      fc.property(tree, fc.constantFrom('', 'a', 'a/b', 'c'), fc.boolean(), ([given, links], source, submodules) => {
        const all: Tree = { ...given, 'a/b/file': 'file', 'c/40': 'file' };
        for (let n = 0; links && n < links[0]; n += 1) all[`c/${n}`] = link(`${links[1]}${n + 1}`);
        const tree = withoutOverlaps(all);
        const began = processorMs();
        try {
          const { files, broken, message } = followLinksIn(tree, { sources: [source], submodules });
          for (const target of Object.values(files)) assert.equal(tree[target], 'file', target);
          assert.ok(broken.length === 0 || (message.length < 8_000 && !message.includes('\n')), message);
          outcomes[broken.length > 0 ? 'broken' : 'delivered'] += 1;
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'sync.TooManyLinks');
          outcomes.limited += 1;
        }
        assert.ok(processorMs() - began < 5_000, `${processorMs() - began} ms`);
      }),
      { numRuns: runs(300) },
    );
    assert.ok(outcomes.delivered > runs(20) && outcomes.broken > runs(50), JSON.stringify(outcomes));
  });
});

const sorted = (files: Record<string, string>) => Object.entries(files).sort();

function write(root: string, tree: Tree): void {
  mkdirSync(root);
  for (const [name, entry] of Object.entries(tree)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    if (typeof entry === 'object' && 'link' in entry) symlinkSync(entry.link, file);
    else writeFileSync(file, '');
  }
}

/** Reads everything at a source of the directory through its links, as a program on Linux does. */
function readLinked(root: string, source: string): Record<string, string> | 'broken' {
  const files: Record<string, string> = {};
  /** Adds the files at a path; `above` are the directories on the way to it. */
  const take = (at: string, above: string[]): boolean => {
    const real = realOf(root, at);
    if (real === undefined || above.includes(real)) return false;
    if (statSync(real).isDirectory()) {
      return readdirSync(real).every((name) => take(at === '' ? name : `${at}/${name}`, [...above, real]));
    }
    files[at] = path.relative(root, real);
    return true;
  };
  const above: string[] = [];
  for (const parent of source === '' ? [] : ['', ...directoriesOf(source)]) {
    const real = realOf(root, parent);
    if (real === undefined) return 'broken';
    above.push(real);
    const [name = ''] = source.slice(parent === '' ? 0 : parent.length + 1).split('/');
    if (!statSync(real).isDirectory() || !readdirSync(real).includes(name)) return {};
  }
  return take(source, above) ? files : 'broken';
}

/** Follows all links on a path; undefined if they lead nowhere or out of the root. */
function realOf(root: string, at: string): string | undefined {
  try {
    const real = realpathSync.native(path.join(root, at));
    return real === root || real.startsWith(`${root}/`) ? real : undefined;
  } catch {
    return undefined;
  }
}
