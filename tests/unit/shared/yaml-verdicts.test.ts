import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { checkSyntax } from '../../../shared/domain/syntax/check-syntax.ts';
import { slow } from '../../support/depth.ts';

interface Sample {
  what: string;
  text: string;
  /** Why the check refuses it nevertheless, as docs/reference/profiles/checks.md says. */
  stricter?: string;
}

/** Files that PyYAML 6.0, libyaml 0.2.5, and go.yaml.in/yaml/v3 3.0.4 parse. */
const CORPUS: Sample[] = [
  { what: 'two merge keys', text: 'a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: *a\n  <<: *b\n' },
  { what: 'a merge of a list', text: 'a: &a {x: 1}\nb:\n  <<: [*a, *a]\n' },
  { what: '101 aliases', text: `- &a 1\n${'- *a\n'.repeat(101)}` },
  { what: 'an alias of the map around it', text: '&a {b: *a}\n', stricter: 'alias' },
  {
    what: 'entries at the indentation of their key',
    text: 'on:\n  push: {\n  branches: [\n  main,\n  next\n  ]\n  }\n',
  },
  { what: 'entries without indentation in a list', text: '- [\na,\nb\n]\n- {\nc: d\n}\n' },
  { what: 'single quotes with a line without indentation', text: "a:\n  - 'x\ny'\n  - z\n" },
  { what: 'a comment after a quote', text: 'a: "x"# comment\n' },
  { what: 'a comment after text without a space', text: 'a: x# text\n' },
  { what: 'a byte order mark before a list', text: '\ufeff- a\n- b\n' },
  { what: 'a key of 1,000 characters', text: `${'k'.repeat(1000)}: 1\n` },
  { what: 'a long key with a question mark', text: `? ${'k'.repeat(1100)}\n: 1\n` },
  { what: 'version 1.1', text: '%YAML 1.1\n---\na: yes\n' },
  { what: 'a repeated key', text: 'a: 1\na: 2\n', stricter: 'repeated key' },
  { what: 'a repeated key in quotes', text: '"<<": 1\n"<<": 2\n', stricter: 'repeated key' },
  { what: 'a list as a key', text: '? [a]\n: 1\n', stricter: 'map or list as a key' },
  { what: 'a template without quotes', text: 'a: {{ .Vars.port }}\n', stricter: 'map or list as a key' },
  { what: 'a tag of another program', text: 'a: !vault x\n' },
  { what: 'items at different columns', text: '- a\n - b\n- c\n' },
  { what: 'a missing comma', text: 'a: [b\n  "c"]\n' },
  { what: 'a block with explicit indentation', text: 'a: |2-\n    x\n  y\n' },
  { what: 'a pair in a list', text: 'a: [b: c, d]\n' },
  { what: 'JSON', text: '{"a": [1, "b", null], "c": {"d":1}}\n' },
  { what: 'an empty file', text: '' },
  { what: 'Windows line ends', text: 'a:\r\n  - b\r\n  - "c\r\n    d"\r\n' },
  { what: 'an anchor without a value', text: 'a: &a\nb: *a\n' },
  { what: 'an alias as a key', text: 'a: &a b\n*a : c\n' },
  { what: 'an alias before a colon in a list', text: '- &a b\n- *a: c\n  d: *a\n' },
  { what: 'an alias before a colon in brackets', text: 'a: &a b\nc: {*a: d, e: [*a: f], *a:g}\n' },
  { what: 'an anchor before a colon without a space', text: '- &a:b\n- *a\n', stricter: 'anchor' },
  { what: 'a tag with three exclamation marks', text: 'a: !!!x b\n', stricter: 'tag' },
  { what: 'carriage returns as line ends', text: 'a: 1 # b\rb:\r  - c\r  - [d,\re]\rc: 1\r' },
  { what: 'an escaped carriage return', text: 'a: "x\\\r  y"\r' },
  { what: 'a block at the column of its key', text: 'a:\n|\n x\n', stricter: 'block' },
  { what: 'a dash as the only text in brackets', text: 'a: [-, b]\n', stricter: 'dash' },
  { what: 'a key of 600 emoji', text: `${'😀'.repeat(600)}: 1\n`, stricter: 'long key' },
];

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

const hasPyYaml = spawnSync('python3', ['-c', 'import yaml; yaml.CSafeLoader']).status === 0;

suite('the check of YAML, compared with the programs that read it', () => {
  for (const { what, text, stricter } of CORPUS)
    test(`${stricter === undefined ? 'accepts' : 'refuses'} ${what}`, () => {
      assert.equal(checkSyntax(Buffer.from(text), 'yaml') === undefined, stricter === undefined);
    });

  test('compares with what PyYAML and libyaml parse', slow, (t) => {
    if (!hasPyYaml) return t.skip('python3-yaml is missing');
    const input = JSON.stringify(CORPUS.map(({ text }) => text));
    const { stdout } = spawnSync('python3', ['-c', PARSE], { input, encoding: 'utf8' });
    assert.deepEqual(
      JSON.parse(stdout),
      CORPUS.map(() => [true, true]),
    );
  });
});
