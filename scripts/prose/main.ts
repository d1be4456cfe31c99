// Checks that text is plain English: pages, the chart, messages, comments and identifiers. Vale and textlint read pages
// and comments, but neither literals nor identifiers, and have no budgets for phrases that are fine now and then.
//
// Without arguments it fails if text breaks a rule that isn't pending. With files or directories it prints every hit in
// them, and fails if they break any rule.
import { findHits, type Hit } from './find-hits.ts';
import { howTosWithoutExample, longCommitSubjects } from './find-problems.ts';
import { forbiddenHits } from './forbidden-hits.ts';
import { readTexts } from './read-texts.ts';

const paths = process.argv.slice(2);
const passages = await readTexts(paths);
const hits = passages.flatMap(findHits);

const all = paths.length === 0;
const forbidden = forbiddenHits(passages, hits, { withPending: !all });
const problems = [
  ...(all ? [...(await howTosWithoutExample()), ...(await longCommitSubjects())] : []),
  ...(passages.length === 0 ? ['no text found'] : []),
];

function lineOf({ file, line, phrase, instead, rule }: Hit): string {
  const budget = rule.budget === undefined ? '' : `, ${rule.budget} per 1,000 words are fine`;
  return `${file}:${line}  ${phrase}  → ${instead} (${rule.name}${budget})`;
}

for (const hit of all ? forbidden : hits) console.log(lineOf(hit));
for (const problem of problems) console.log(`✖ ${problem}`);
process.exitCode = forbidden.length + problems.length > 0 ? 1 : 0;
