import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { validateProfiles } from '../../../../../shared/domain/files/validate-profiles.ts';
import { type ProfileSource, resolveProfile } from '../../../../../shared/domain/kubernetes/resolve-profile.ts';
import { defaultProfile } from '../../../../support/default-profile.ts';
import { processorMs } from '../../../../support/processor-time.ts';

type Profiles = Parameters<typeof validateProfiles>[0];

const mapping = (fields: object) => ({ source: 'a', destination: 'b', required: true, template: false, ...fields });
const profile = (source: string, vars: Record<string, string> = {}) => ({ mappings: [mapping({ source })], vars });
/** The problems of a spec with one profile, and these defaults. */
const problemsOf = (only: Profiles['profiles'][string], defaults?: Profiles['defaults']) =>
  validateProfiles({ profiles: { p: only }, ...(defaults && { defaults }) });

suite('the profiles of a spec', () => {
  test('can use the values that every pod has, and their own variables', () => {
    for (const source of [
      '{{ .GatewayName }}/{{.PodOrdinal}}',
      '{{ .Labels.app.kubernetes.io/name }}',
      '{{ .Vars.site }}',
    ])
      assert.deepEqual(problemsOf(profile(source, { site: 'a' })), [], source);
    assert.deepEqual(problemsOf(profile('{{ .Vars.site }}'), { vars: { site: 'a' } }), []);
  });

  test('are invalid if they use an unknown value, and the message says where', () => {
    const problems = validateProfiles({
      profiles: { good: profile('a'), bad: profile('sites/{{ .Vars.site }}'), odd: profile('{{ if x }}') },
    });
    assert.equal(problems.length, 2);
    assert.match(problems[0] ?? '', /^profiles\.bad\.mappings\[0\]\.source: .* \.Vars\.site /);
    assert.match(problems[1] ?? '', /^profiles\.odd\.mappings\[0\]\.source: /);
  });

  test('have valid paths after their variables are filled in', () => {
    for (const folder of ['../etc', '.sync-agent', '.git']) {
      const mappings = [mapping({ destination: './{{ .Vars.folder }}' })];
      const problems = problemsOf({ mappings, vars: { folder } });
      const places = problems.map((problem) => problem.replace(/: .*/, ''));
      assert.deepEqual(places, ['profiles.p.mappings[0].destination']);
    }
  });

  const patched = (patches: { file: string; set: Record<string, string> }[]) =>
    problemsOf({ mappings: [mapping({ patches })], vars: { port: '8043' } });

  test('can patch files with the values that every pod has, and with their own variables', () => {
    const set = { 'a.b': '{{ .Vars.port }}', 'a.c\\.d': '{{ .GatewayName }} {{ .Labels.app }}', 'e.0': 'true' };
    assert.deepEqual(patched(['', '**/[a-z]*.json'].map((file) => ({ file, set }))), []);
  });

  const wrong: [name: string, file: string, set: Record<string, string>, problem: RegExp][] = [
    ['a file outside of the mapping', '../a.json', { a: '1' }, /^\.file: /],
    ['an empty key', 'a.json', { 'a..b': '1' }, /^\.set: /],
    ['an unknown variable', 'a.json', { a: '{{ .Vars.host }}' }, /^\.set\.a: .* \.Vars\.host /],
  ];
  for (const [name, file, set, problem] of wrong) {
    test(`can't have a patch with ${name}`, () => {
      const [first = '', ...others] = patched([
        { file: 'good.json', set: { a: '1' } },
        { file, set },
      ]);
      const place = 'profiles.p.mappings[0].patches[1]';
      assert.equal(first.slice(0, place.length), place);
      assert.match(first.slice(place.length), problem);
      assert.deepEqual(others, []);
    });
  }

  test("can't reach JavaScript's own properties of objects", () => {
    assert.equal(problemsOf(profile('{{ .Vars.constructor }}{{ .toString }}')).length, 1);
  });

  test('can exclude any glob, but no ranges, by their own patterns or those of the defaults', () => {
    const excludePatterns = ['*.bak', '!{a,b}', 'log{1..9}'];
    const [problem, ...others] = problemsOf({ ...profile('a'), excludePatterns });
    assert.match(problem ?? '', /^profiles\.p\.excludePatterns\[2\]: .*\{1\.\.9\} /);
    assert.deepEqual(others, []);
    assert.deepEqual(problemsOf(profile('a'), { excludePatterns: ['a'] }), []);
  });
});

suite('the validation of a spec of the maximum size', () => {
  const many = <T>(count: number, field: string, value: T): Record<string, T> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${field}${n}`, value]));
  /** So many values, 512 of them in each mapping. */
  const patchesOf = (values: number, value: string) => ({
    mappings: Array.from({ length: values / 512 }, () =>
      mapping({ patches: Array.from({ length: 16 }, () => ({ file: '', set: many(32, 'k', value) })) }),
    ),
  });
  const long = '1'.repeat(512);
  const reference = '{{ .Vars.a }}';
  const pattern = '{a..'.repeat(128);
  const patterns = { mappings: [mapping({})], excludePatterns: Array(64).fill(pattern) };
  const patches = Array(16).fill({ file: pattern, set: { a: '' } });
  const paths = Array(64).fill(mapping({ source: reference.repeat(7), destination: reference }));
  const multiplied: [what: string, sync: Profiles][] = [
    ['a variable in many values', { defaults: { vars: { a: long } }, profiles: { p: patchesOf(8_192, reference) } }],
    ['a variable in many paths', { profiles: many(32, 'p', { mappings: paths, vars: { a: long } }) }],
    ['patterns', { profiles: many(4, 'p', patterns) }],
    [
      'inherited patterns',
      { defaults: { excludePatterns: patterns.excludePatterns }, profiles: many(32, 'p', { mappings: [mapping({})] }) },
    ],
    ['patterns of patches', { profiles: { p: { mappings: Array(32).fill(mapping({ patches })) } } }],
  ];
  for (const [what, sync] of multiplied) {
    test(`ends soon with a problem if ${what} would take long`, () => {
      const started = processorMs();
      const problems = validateProfiles(sync, 8);
      const tookMs = processorMs() - started;
      assert.match(problems.join(), / 2097152 /);
      assert.ok(tookMs < 1_000, `${tookMs} ms`);
    });
  }

  test('accepts many values of the usual length', () => {
    assert.deepEqual(problemsOf(patchesOf(24_576, 'http://edge.example')), []);
  });

  test('rejects a path or value that is too long', () => {
    const longSource = profile(reference.repeat(9), { a: long });
    assert.match(problemsOf(longSource).join(), /\b4096\b/);
    const emoji = { a: '\u{1F600}'.repeat(512) };
    const patches = [{ file: '', set: { a: '{{.Vars.a}}'.repeat(46) } }];
    assert.match(problemsOf({ mappings: [mapping({ patches })], vars: emoji }).join(), /\b32768\b/);
  });

  test('stops at the first problems', () => {
    const broken = { mappings: Array(64).fill(mapping({ source: '{{' })) };
    assert.equal(validateProfiles({ profiles: many(32, 'p', broken) }, 8).length, 8);
  });
});

suite('a profile', () => {
  const mappings = profile('a').mappings;
  const builtIn = defaultProfile('p', mappings);
  const inherited: ProfileSource['defaults'] = {
    excludePatterns: ['*.tmp'],
    syncPeriod: 60,
    designerSessionPolicy: 'wait',
    maxFailures: 3,
    dryRun: true,
    paused: true,
    onConflict: 'refuse',
    drift: 'report',
    prune: false,
    allowEmpty: true,
    groupWrite: true,
  };

  test('has every setting, even if none is specified', () => {
    assert.deepEqual(resolveProfile({ profiles: { p: { mappings } } }, 'p'), builtIn);
  });

  test('inherits every setting', () => {
    const defaults = { ...inherited, startPolicy: 'useLastGood' } as const;
    const expected = { ...builtIn, ...defaults };
    assert.deepEqual(resolveProfile({ defaults, profiles: { p: { mappings } } }, 'p'), expected);
  });

  test('overrides every setting that it inherits', () => {
    const { name: _, ...own } = builtIn;
    assert.deepEqual(resolveProfile({ defaults: inherited, profiles: { p: own } }, 'p'), builtIn);
  });

  test('inherits variables one by one', () => {
    const resolved = resolveProfile(
      { defaults: { vars: { a: '1', b: '2' } }, profiles: { p: { mappings, vars: { b: '3', c: '4' } } } },
      'p',
    );
    assert.deepEqual(resolved?.vars, { a: '1', b: '3', c: '4' });
  });

  test("is only found if it is the spec's own property", () => {
    for (const name of ['q', 'constructor', 'toString'])
      assert.equal(resolveProfile({ profiles: { p: { mappings } } }, name), undefined, name);
  });
});
