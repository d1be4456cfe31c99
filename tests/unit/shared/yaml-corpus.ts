/** Programs that read YAML: go-yaml 3, libyaml by the C loader of PyYAML, and PyYAML itself. */
type YamlProgram = 'PyYAML' | 'libyaml' | 'go-yaml';

interface YamlSample {
  what: string;
  text: string;
  /** Programs that parse it. */
  accepts: readonly YamlProgram[];
  /** Why the check refuses it nevertheless, as docs/reference/profiles/checks.md says. */
  stricter?: string;
}

const ALL: readonly YamlProgram[] = ['PyYAML', 'libyaml', 'go-yaml'];
const NONE: readonly YamlProgram[] = [];

/** Files, and the programs that parsed them: PyYAML 6.0, libyaml 0.2.5, and go.yaml.in/yaml/v3 3.0.4 into a node. */
export const YAML_CORPUS: YamlSample[] = [
  { what: 'two merge keys', text: 'a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: *a\n  <<: *b\n', accepts: ALL },
  { what: 'two merge keys in brackets', text: 'a: &a {x: 1}\nb: {<<: *a, <<: *a}\n', accepts: ALL },
  { what: 'a merge of a list', text: 'a: &a {x: 1}\nb:\n  <<: [*a, *a]\n', accepts: ALL },
  { what: '101 aliases', text: `- &a 1\n${'- *a\n'.repeat(101)}`, accepts: ALL },
  { what: 'an anchor that is set twice', text: 'a: &a 1\nb: *a\nc: &a 2\nd: *a\n', accepts: ['go-yaml'] },
  { what: 'an alias of another document', text: 'a: &a 1\n---\nb: *a\n', accepts: ['go-yaml'] },
  { what: 'an alias of the map around it', text: '&a {b: *a}\n', accepts: ALL, stricter: 'alias' },
  {
    what: 'entries at the indentation of their key',
    text: 'on:\n  push: {\n  branches: [\n  main,\n  next\n  ]\n  }\n',
    accepts: ALL,
  },
  { what: 'entries without indentation in a list', text: '- [\na,\nb\n]\n- {\nc: d\n}\n', accepts: ALL },
  { what: 'double quotes with a line without indentation', text: 'a:\n  b: "x\ny"\n  c: 1\n', accepts: ALL },
  { what: 'single quotes with a line without indentation', text: "a:\n  - 'x\ny'\n  - z\n", accepts: ALL },
  { what: 'a document marker in quotes', text: 'a: "x\n--- y"\n', accepts: NONE },
  { what: 'a comment after a quote', text: 'a: "x"# comment\n', accepts: ALL },
  { what: 'a comment after a bracket', text: 'a: [# comment\n  x]# comment\n', accepts: ALL },
  { what: 'a comment after text without a space', text: 'a: x# text\n', accepts: ALL },
  { what: 'a comment after a block header', text: 'a: |# comment\n  x\n', accepts: ['libyaml', 'go-yaml'] },
  { what: 'a byte order mark before a list', text: '\ufeff- a\n- b\n', accepts: ALL },
  { what: 'a byte order mark before an indented map', text: '\ufeff  a: 1\n  b: 2\n', accepts: ALL },
  { what: 'a key of 1,000 characters', text: `${'k'.repeat(1000)}: 1\n`, accepts: ALL },
  { what: 'a key of 1,100 characters', text: `${'k'.repeat(1100)}: 1\n`, accepts: NONE },
  { what: 'a long key with a question mark', text: `? ${'k'.repeat(1100)}\n: 1\n`, accepts: ALL },
  { what: 'a key on two lines', text: '"a\n  b": 1\n', accepts: NONE },
  { what: 'version 1.1', text: '%YAML 1.1\n---\na: yes\n', accepts: ALL },
  { what: 'version 1.2', text: '%YAML 1.2\n---\na: yes\n', accepts: ['PyYAML', 'libyaml'] },
  { what: 'version 2.0', text: '%YAML 2.0\n---\na: 1\n', accepts: NONE },
  { what: 'a repeated key', text: 'a: 1\na: 2\n', accepts: ALL, stricter: 'repeated key' },
  { what: 'a repeated key in another form', text: '1: a\n1.0: b\n', accepts: ALL, stricter: 'repeated key' },
  { what: 'a repeated key in quotes', text: '"<<": 1\n"<<": 2\n', accepts: ALL, stricter: 'repeated key' },
  { what: 'a list as a key', text: '? [a]\n: 1\n', accepts: ALL, stricter: 'map or list as a key' },
  { what: 'a template without quotes', text: 'a: {{ .Vars.port }}\n', accepts: ALL, stricter: 'map or list as a key' },
  { what: 'a tag of another program', text: 'a: !vault x\n', accepts: ALL },
  { what: 'a tag with a prefix', text: '%TAG !e! tag:example.com,2000:\n---\na: !e!x y\n', accepts: ALL },
  { what: 'a tag without a prefix', text: 'a: !e!x y\n', accepts: NONE },
  { what: 'a tab as indentation', text: 'a:\n\tb: 1\n', accepts: NONE },
  { what: 'a tab before a comment', text: 'a: 1\t# comment\n', accepts: ['libyaml', 'go-yaml'] },
  { what: 'a tab after a dash', text: '-\ta\n', accepts: NONE },
  { what: 'a colon in text', text: 'a: b: c\n', accepts: NONE },
  { what: 'a list at the indentation of its key', text: 'a:\n- b\n- c\nd: e\n', accepts: ALL },
  { what: 'items at different columns', text: '- a\n - b\n- c\n', accepts: ALL },
  { what: 'a map with less indentation than its sibling', text: 'a:\n    b: 1\n  c: 2\n', accepts: NONE },
  { what: 'an escape that does not exist', text: 'a: "\\q"\n', accepts: NONE },
  { what: 'an open quote', text: 'a: "b\n', accepts: NONE },
  { what: 'an open bracket', text: 'a: [b\n', accepts: NONE },
  { what: 'a missing comma', text: 'a: [b\n  "c"]\n', accepts: ALL },
  { what: 'text after a closing bracket', text: 'a: [b] c\n', accepts: NONE },
  { what: 'a block with more indentation in its first line', text: 'a: |\n    x\n  y\n', accepts: NONE },
  { what: 'a block with explicit indentation', text: 'a: |2-\n    x\n  y\n', accepts: ALL },
  { what: 'a reserved character', text: 'a: @b\n', accepts: NONE },
  { what: 'a percent sign', text: 'a: %b\n', accepts: NONE },
  { what: 'a pair in a list', text: 'a: [b: c, d]\n', accepts: ALL },
  { what: 'JSON', text: '{"a": [1, "b", null], "c": {"d":1}}\n', accepts: ALL },
  { what: 'an empty file', text: '', accepts: ALL },
  { what: 'only comments', text: '# a\n# b\n', accepts: ALL },
  { what: 'Windows line ends', text: 'a:\r\n  - b\r\n  - "c\r\n    d"\r\n', accepts: ALL },
  { what: 'a control character', text: 'a: "\u0001"\n', accepts: NONE },
  { what: 'an emoji', text: 'a: "😀"\nb: 😀\n', accepts: ALL },
  { what: 'an anchor without a value', text: 'a: &a\nb: *a\n', accepts: ALL },
  { what: 'two anchors of one value', text: 'a: &a &b c\n', accepts: NONE },
  { what: 'an alias as a key', text: 'a: &a b\n*a : c\n', accepts: ALL },
  { what: 'an alias as a key before a colon', text: 'a: &a b\n*a: c\n', accepts: ALL },
  { what: 'an alias before a colon in a list', text: '- &a b\n- *a: c\n  d: *a\n', accepts: ALL },
  { what: 'an alias before a colon in brackets', text: 'a: &a b\nc: {*a: d, e: [*a: f], *a:g}\n', accepts: ALL },
  { what: 'an anchor before a colon', text: '- &a: b\n- {&b: c, d: *a}\n- *b\n', accepts: ALL },
  { what: 'an anchor before a colon without a space', text: '- &a:b\n- *a\n', accepts: ALL, stricter: 'anchor' },
  { what: 'a tag with three exclamation marks', text: 'a: !!!x b\n', accepts: ALL, stricter: 'tag' },
  { what: 'carriage returns as line ends', text: 'a: 1 # b\rb:\r  - c\r  - [d,\re]\rc: 1\r', accepts: ALL },
  { what: 'carriage returns in a block', text: 'a: |\r  x\r  y\rb: >\r  z\r', accepts: ALL },
  { what: 'an escaped carriage return', text: 'a: "x\\\r  y"\r', accepts: ALL },
  { what: 'a carriage return after a document marker', text: '---\ra: 1\r...\r', accepts: ALL },
  { what: 'a block at the column of its key', text: 'a:\n|\n x\n', accepts: ALL, stricter: 'block' },
  { what: 'an empty block at the column of its key', text: 'a:\n>\n', accepts: ALL, stricter: 'block' },
  { what: 'a block at the column of a dash', text: '-\n|\n x\n', accepts: ALL, stricter: 'block' },
  { what: 'a dash as the only text in brackets', text: 'a: [-, b]\n', accepts: ALL, stricter: 'dash' },
  { what: 'a key of 600 emoji', text: `${'😀'.repeat(600)}: 1\n`, accepts: ALL, stricter: 'long key' },
  { what: 'a document without its start', text: 'a: 1\n...\nb: 2\n', accepts: NONE },
];
