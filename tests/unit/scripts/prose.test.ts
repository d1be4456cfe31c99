import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findHits } from '../../../scripts/prose/find-hits.ts';
import { measure } from '../../../scripts/prose/judge.ts';
import type { Kind } from '../../../scripts/prose/passage.ts';
import { readChart } from '../../../scripts/prose/read-chart.ts';
import { readPage } from '../../../scripts/prose/read-page.ts';
import { readSource } from '../../../scripts/prose/read-source.ts';
import { RULES } from '../../../scripts/prose/rules.ts';

const rulesOf = (text: string, kind: Kind = 'page', file = 'a.md') =>
  findHits({ file, kind, line: 1, text }).map(({ rule }) => rule.name);

/** A sentence for each rule that breaks it, and no other. */
const ODD: [rule: string, text: string, kind?: Kind, file?: string][] = [
  ['clause as a noun', 'Whoever reads the repository reads these messages.'],
  ['clause as a noun', 'What cannot be fetched costs nothing.'],
  ['clause as a noun', 'It waits. Who has failed once has failed.'],
  ['opener of a doc comment', 'Where the files are.', 'doc comment'],
  ['opener of a doc comment', 'So many keys at a time.', 'doc comment'],
  ['what', 'It prints what was noted.'],
  ['pronoun for a noun', 'the labels of the pod and those of the file'],
  ['whatever', 'It retries, however long that takes.'],
  ['opener of a doc comment', 'Gives the last lines of a file.', 'doc comment'],
  ['people without a name', 'as soon as nobody\nneeds it'],
  ['programs that talk', 'The API server must be\ntold to present one.'],
  ['ask for', 'It asks for a ref.'],
  ['says', 'The status says which gateway failed.'],
  ['since', 'It is always the same one, since a hash chooses it.'],
  ['two colons in a sentence', 'The port is in use: the page is not served: choose another one.'],
  ['by', 'A change goes out by waves.'],
  ['at a place', 'a status at GitHub'],
  ['everyday verb', 'The canary was not well.'],
  ['everyday verb', 'All gateways go back to it.'],
  ['everyday verb', 'The files are brought in place.'],
  ['everyday verb', 'a host that is away'],
  ['everyday verb', 'It takes the place of the file.'],
  ['is there', 'if the file is there already'],
  ['end', 'when the token ends'],
  ['the one before', 'the commit before'],
  ['everyday verb', 'It is tried again.'],
  ['look', 'Each look sends all requests.'],
  ['counts', 'It counts as failed.'],
  ['negated noun', 'spec.git.repo is no URL'],
  ['limit after the number', '64 KiB at most'],
  ['may', 'users who may read pods'],
  ['rights', 'You need the right to patch it.'],
  ['late adverb', 'It is shown, also if a window is closed.'],
  ['too', 'The agent does that, too.'],
  ['adverb', 'the tests, one after the other'],
  ['in place', 'The files are in place.'],
  ['fragment', 'Empty means all of them.'],
  ['late adverb', 'It is not ready any more.'],
  ['late adverb', 'The tests run meanwhile.'],
  ['so many', 'It waits for so long.'],
  ['fronted "of"', 'Of several bodies the slowest.'],
  ['where', 'It is deleted only where no file is left.'],
  ['old phrase', 'A pod of its own.'],
  ['old phrase', 'It reckons with that.'],
  ['term', 'The folder is empty.'],
  ['term', 'for processor time'],
  ['answer', 'The server answers.'],
  ['After this page', 'After this page, you can do it.'],
  ['description that is a question', 'Whether to skip the check.', 'message', 'shared/api/git.ts'],
  ['identifier', 'put right after ms', 'identifier'],
  ['term in an identifier', 'staging folder', 'identifier'],
];

/** Ordinary English that resembles the patterns of the rules. */
const PLAIN: [text: string, kind?: Kind][] = [
  ['What is a gateway? What happens when it fails?'],
  ['# What it writes'],
  ['Users who have access see what changed.'],
  ['It has been running since v1.2, since then without a restart.'],
  ['There is no limit, and it is no longer used.'],
  ['at most 64 KiB, and at least 3 of them'],
  ['The setting is well documented, and keys that end with .pem are read.'],
  ['Besides, it recommends the report of its own pod.'],
  ['The right file is on the right.'],
  ['There are so many requests that it slows down, as long as you like.'],
  ['Of course, when it comes to security, try again later.'],
  ['**Note:** see the list: it has all of them.'],
  ['See https://example.com: it lists them.'],
  ['# What is delivered'],
  ['Two fields differ: set spec.git.ref: main and required: false.'],
  ['They are told apart by their names.'],
  ['Ask for help if there is none.'],
  ['It may look like this.'],
  ['the directory where it is stored'],
  ['any more requests than that'],
  ['least recently used', 'identifier'],
  ['The path of the repository.', 'doc comment'],
];

suite('the rules of prose', () => {
  for (const [rule, text, kind, file] of ODD) {
    test(`${rule}: ${text}`, () => assert.deepEqual(rulesOf(text, kind, file), [rule]));
  }
  for (const [text, kind] of PLAIN) test(`plain: ${text}`, () => assert.deepEqual(rulesOf(text, kind), []));

  test('each has an example', () => {
    assert.deepEqual(
      RULES.map(({ name }) => name).filter((name) => !ODD.some(([rule]) => rule === name)),
      [],
    );
  });
});

test('only hits beyond the budget of a rule count', () => {
  const passage = {
    file: 'a.md',
    kind: 'page' as const,
    line: 1,
    text: `${'It says why. '.repeat(5)}${'word '.repeat(1985)}`,
  };
  const [page] = measure([passage], findHits(passage));
  assert.equal(page?.words, 2000);
  assert.equal(page?.density, 1.5, 'five hits, of which one per 1,000 words is fine');
});

suite('text is read', () => {
  const texts = (passages: { kind: Kind; line: number; text: string }[]) =>
    passages.map(({ kind, line, text }) => `${line} ${kind}: ${text}`);

  test('from a page: paragraphs without code and targets', () => {
    const page = '# Title\n\nSee [the\npage](a.md) of `x`.\n\n```sh\nnobody\n```\n- an item\n  goes on\n';
    assert.deepEqual(texts(readPage('a.md', page)), [
      '1 page: # Title',
      '3 page: See [the\npage] of _.',
      '9 page: an item\ngoes on',
    ]);
    assert.deepEqual(readPage('a.md', '<!-- Made by `npm run generate`. -->\n\nNobody'), []);
  });

  test('from a program: messages, comments and declared names', () => {
    const source = [
      '/** Reads a file.\n * Throws. */',
      'export const readIt = (path: string) => {',
      '  // One line\n  // and another.',
      '  if (!path) throw new Error(`the path $' + '{path} is empty`);',
      "  return 'some/path';",
      '};',
    ].join('\n');
    assert.deepEqual(texts(readSource('agent/a.ts', source)).sort(), [
      '1 doc comment: Reads a file.\nThrows. ',
      '3 identifier: read it',
      '4 comment: One line\nand another.',
      '6 message: the path _ is empty',
    ]);
  });

  test('from the chart: comments and messages', () => {
    const values = '# -- Number of replicas,\n# at most 3.\nreplicas: 1\n';
    assert.deepEqual(texts(readChart('values.yaml', values)), ['1 chart: Number of replicas,\nat most 3.\n']);
    const template = '{{/* Name of it. */}}\n{{- fail (printf "the name %s is wrong" .name) }}\nname: "no text"\n';
    assert.deepEqual(texts(readChart('a.tpl', template)), ['1 chart:  Name of it. ', '2 chart: the name %s is wrong']);
  });
});
