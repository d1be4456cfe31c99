import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';

const checkout = path.join(import.meta.dirname, '../..');

/** Phrases that crept in, and what to write instead. Parts of longer words, such as `besides`, are no hits. */
const PHRASES: [RegExp, string][] = [
  [/\bbeside\b/, 'next to'],
  [/\b(?:is|are|was|were|be|been) away\b/, 'is unavailable'],
  [/\bmend(?:s|ed|ing)?\b/, 'fix'],
  [/\banew\b/, 'again, new'],
  [/\bshall\b/, 'must, will'],
  [/\bneeds? (?:it )?not\b/, 'does not need, need not be → does not have to be'],
  [/\b(?:tell|tells|told|telling) of\b/, 'report, notify of'],
  [/\bwho is told\b/, 'who is notified'],
  [/\bstand(?:s|ing)? (?:in|under|beside|next to)\b/, 'is in'],
  [/\blands? in\b/, 'is in, gets'],
  // `of its own pod` is ordinary English; `a pod of its own` is not.
  [
    /\bof (?:its|their|your|our|his|her|my) own(?=[.,;:)]|$| (?:and|or|in|for|that|which|to|where|by|with|each|is|are)\b)/,
    'its own …',
  ],
  [/\bbe (?:it|they)\b/, 'whether'],
  [/\bcomes? of it\b/, 'what happens'],
  [/\breckon(?:s|ed|ing)?\b/, 'estimate'],
  [/\bheed(?:s|ed|ing)?\b/, 'respect, take effect'],
  [/\bput right\b/, 'repair'],
  [/\bhas to be told\b/, 'must know'],
];

/** `line: phrase (write …)` for each phrase in a text. */
const phrasesIn = (text: string): string[] =>
  text.split('\n').flatMap((line, index) =>
    PHRASES.flatMap(([pattern, instead]) => {
      const [found] = new RegExp(pattern, 'i').exec(line) ?? [];
      return found === undefined ? [] : [`${index + 1}: ${found} (write: ${instead})`];
    }),
  );

test('what is looked for is found, and ordinary English is not', () => {
  const odd = [
    'It lies beside it.',
    'A host that is away.',
    'A pod of its own.',
    'It needs it not.',
    'Told of a patch',
  ];
  for (const line of odd) assert.equal(phrasesIn(line).length, 1, line);
  const plain = [
    'Besides, it works.',
    'the report of its own pod',
    'It goes away.',
    'None of these stand.',
    'It recommends this.',
  ];
  for (const line of plain) assert.deepEqual(phrasesIn(line), [], line);
});

/** What is wrong in each of the files, by their paths in the checkout. */
async function oddPhrases(pattern: string, textOf: (source: string) => string): Promise<Record<string, string[]>> {
  const odd: Record<string, string[]> = {};
  for await (const file of glob(pattern, { cwd: checkout })) {
    const found = phrasesIn(textOf(await readFile(path.join(checkout, file), 'utf8')));
    if (found.length > 0) odd[file] = found;
  }
  return odd;
}

/** Without its lines, which keeps the numbers of those that follow. */
const blank = (text: string) => text.replaceAll(/[^\n]/g, '');
const withoutCode = (text: string) => text.replaceAll(/^( *)```\w*\n[\s\S]*?^\1```$/gm, blank);
const withoutTargets = (text: string) => text.replaceAll(/\]\([^)\s]+\)/g, ']');
/** The literals of a program, which are what it says. */
const literals = (source: string) =>
  source
    .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, blank)
    .replaceAll(/('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|[^\n]/g, (_, literal = '') => literal);

/** The comments of a program, without the code in them. */
const comments = (source: string) =>
  source
    .replaceAll(/^(?!\s*(?:\/\/|\/?\*)).*$/gm, (line) => / \/\/ (.*)$/.exec(line)?.[1] ?? '')
    .replaceAll(/`[^`\n]*`/g, '');

suite('plain English is written in', () => {
  for (const [what, pattern, textOf] of [
    ['the pages', '{*.md,docs/**/*.md,chart/*.md}', (text: string) => withoutTargets(withoutCode(text))],
    ['the chart', 'chart/{values.yaml,templates/**/*.{yaml,tpl,txt}}', (text: string) => text],
    ['what the programs say', '{receiver,controller,agent,cli,shared,scripts/generate}/**/*.{ts,js}', literals],
    ['the comments', '{receiver,controller,agent,cli,shared,scripts,tests}/**/*.{ts,js}', comments],
  ] as const) {
    test(what, async () => assert.deepEqual(await oddPhrases(pattern, textOf), {}));
  }
});
