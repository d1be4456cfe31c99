import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { checkSyntax } from '../../../shared/domain/syntax/check-syntax.ts';
import { YAML_CORPUS } from './yaml-corpus.ts';

/** Prints for each text whether PyYAML and its C loader parse it. */
const PARSE = `
import json, sys, yaml
def parses(text, loader):
    try:
        list(yaml.compose_all(text, loader))
        return True
    except yaml.YAMLError:
        return False
loaders = [yaml.SafeLoader, yaml.CSafeLoader]
print(json.dumps([[parses(text, loader) for loader in loaders] for text in json.load(sys.stdin)]))
`;

import { slow } from '../../support/depth.ts';

const hasPyYaml = spawnSync('python3', ['-c', 'import yaml; yaml.CSafeLoader']).status === 0;

suite('the check of YAML, compared with the programs that read it', () => {
  for (const { what, text, accepts, stricter } of YAML_CORPUS) {
    const isCommon = accepts.length === 3 && stricter === undefined;
    if (!isCommon && stricter === undefined) continue;
    test(`${isCommon ? 'accepts' : 'refuses'} ${what}`, () => {
      const problem = checkSyntax(Buffer.from(text), 'yaml');
      if (isCommon) assert.equal(problem, undefined);
      else assert.ok(problem);
    });
  }

  test('compares with what PyYAML and libyaml parse', slow, (t) => {
    if (!hasPyYaml) return t.skip('python3-yaml is missing');
    const input = JSON.stringify(YAML_CORPUS.map(({ text }) => text));
    const { stdout } = spawnSync('python3', ['-c', PARSE], { input, encoding: 'utf8' });
    const recorded = YAML_CORPUS.map(({ accepts }) => [accepts.includes('PyYAML'), accepts.includes('libyaml')]);
    assert.deepEqual(JSON.parse(stdout), recorded);
  });
});
