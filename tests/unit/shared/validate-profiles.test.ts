import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { validateProfiles } from '../../../shared/domain/validate-profiles.ts';

const profile = (source: string, vars: Record<string, string> = {}) => ({
  mappings: [{ source, destination: 'config', required: true, template: false }],
  vars,
});

suite('profiles', () => {
  test('may name what every pod has, and their own variables', () => {
    const sources = [
      'config',
      '{{ .GatewayName }}/{{.PodOrdinal}}',
      'x/{{ .Labels.app.kubernetes.io/name }}',
      '{{ .Vars.site }}',
    ];
    for (const source of sources) {
      assert.deepEqual(validateProfiles({ profiles: { default: profile(source, { site: 'a' }) } }), [], source);
    }
    assert.deepEqual(
      validateProfiles({ defaults: { vars: { site: 'a' } }, profiles: { default: profile('{{ .Vars.site }}') } }),
      [],
    );
  });

  test('that name what is not there are wrong, and it is said where', () => {
    const problems = validateProfiles({
      profiles: { good: profile('a'), bad: profile('sites/{{ .Vars.site }}'), odd: profile('{{ if x }}') },
    });
    assert.equal(problems.length, 2);
    assert.match(
      problems[0] ?? '',
      /^profiles\.bad\.mappings\[0\]\.source: .*add it to vars of the profile or of the defaults/,
    );
    assert.match(problems[1] ?? '', /^profiles\.odd\.mappings\[0\]\.source: .*no template that the agent knows/);
  });

  test('are held to their paths with the values of their variables in place', () => {
    const paths: [destination: string, vars: Record<string, string>, problem: RegExp][] = [
      [
        '{{ .Vars.folder }}',
        { folder: '../etc' },
        /^profiles\.p\.mappings\[0\]\.destination: .*must not leave its root/,
      ],
      ['{{ .Vars.folder }}/x', { folder: '' }, /^profiles\.p\.mappings\[0\]\.destination: .*must be a relative path/],
      [
        './{{ .Vars.folder }}',
        { folder: '.sync-agent' },
        /^profiles\.p\.mappings\[0\]\.destination: .*agent's own files/,
      ],
    ];
    for (const [destination, vars, problem] of paths) {
      const [first = '', ...others] = validateProfiles({
        profiles: { p: { mappings: [{ source: 'a', destination, required: true, template: false }], vars } },
      });
      assert.match(first, problem);
      assert.deepEqual(others, []);
    }
  });

  const patched = (patches: { file: string; set: Record<string, string> }[]) =>
    validateProfiles({
      profiles: {
        p: {
          mappings: [{ source: 'a', destination: 'a', required: true, template: false, patches }],
          vars: { port: '8043' },
        },
      },
    });

  test('may patch files with what every pod has, and with their own variables', () => {
    const set = { 'a.b': '{{ .Vars.port }}', 'a.c\\.d': '{{ .GatewayName }} {{ .Labels.app }}', 'e.0': 'true' };
    assert.deepEqual(
      patched([
        { file: '', set },
        { file: '**/[a-z]*.json', set },
      ]),
      [],
    );
  });

  const wrong: [name: string, file: string, set: Record<string, string>, problem: RegExp][] = [
    ['a file outside of the mapping', '../a.json', { a: '1' }, /^\.file: \.\.\/a\.json: must not leave its root$/],
    ['an absolute file', '/a.json', { a: '1' }, /^\.file: \/a\.json: must be a relative path$/],
    ['an empty key', 'a.json', { 'a..b': '1' }, /^\.set: "a\.\.b" is no path/],
    ['an unknown variable', 'a.json', { a: '{{ .Vars.host }}' }, /^\.set\.a: .*add it to vars/],
    ['paths of which one lies in the other', 'a.json', { a: '1', 'a.b': '2' }, /^\.set: a\.b and a are the same place/],
  ];
  for (const [name, file, set, problem] of wrong) {
    test(`cannot have a patch with ${name}`, () => {
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

  test('cannot reach what JavaScript keeps in objects', () => {
    assert.equal(
      validateProfiles({ profiles: { default: profile('{{ .Vars.constructor }}{{ .toString }}') } }).length,
      1,
    );
  });

  test('may exclude what a glob can say, and no range, by a pattern of their own or of the defaults', () => {
    const profiles = { default: { ...profile('a'), excludePatterns: ['*.bak', '!{a,b}', 'log{1..9}'] } };
    const [problem, ...others] = validateProfiles({ profiles });
    assert.match(problem ?? '', /^profiles\.default\.excludePatterns\[2\]: .*\{1\.\.9\} is not supported/);
    assert.deepEqual(others, []);
    assert.deepEqual(
      validateProfiles({ profiles: { default: profile('a') }, defaults: { excludePatterns: ['a'] } }),
      [],
    );
  });
});
