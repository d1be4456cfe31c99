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

  test('cannot reach what JavaScript keeps in objects', () => {
    assert.equal(
      validateProfiles({ profiles: { default: profile('{{ .Vars.constructor }}{{ .toString }}') } }).length,
      1,
    );
  });
});
