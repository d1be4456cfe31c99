// Checks that text is plain English: pages, the chart, messages, comments and identifiers. Vale and textlint read pages
// and comments, but neither literals nor identifiers, and have no budgets for phrases that are fine now and then.
//
// Without arguments it fails if text is above the ceilings in judge.ts. With files or directories it prints every hit in
// them, and fails if they miss the aims.
import { findHits, type Hit } from './find-hits.ts';
import { howTosWithoutExample, longCommitSubjects } from './find-problems.ts';
import { AIMS, aboveCeiling, CEILINGS, doneRules, forbiddenHits, measure, tableOf } from './judge.ts';
import { readTexts } from './read-texts.ts';

const paths = process.argv.slice(2);
const passages = await readTexts(paths);
const hits = passages.flatMap(findHits);
const densities = measure(passages, hits);

const all = paths.length === 0;
const forbidden = forbiddenHits(densities, { withPending: !all });
const problems = [
  ...aboveCeiling(densities, all ? CEILINGS : { ...AIMS, page: Number.POSITIVE_INFINITY }),
  ...(all ? [...(await howTosWithoutExample()), ...(await longCommitSubjects())] : []),
];

function lineOf({ file, line, phrase, instead, rule }: Hit): string {
  const budget = rule.budget === undefined ? '' : `, ${rule.budget} per 1,000 words are fine`;
  return `${file}:${line}  ${phrase}  → ${instead} (${rule.name}${budget})`;
}

for (const hit of all ? forbidden : hits) console.log(lineOf(hit));
console.log(`\n${tableOf(densities)}`);
for (const problem of problems) console.log(`✖ ${problem}`);
for (const rule of all ? doneRules(hits) : [])
  console.log(`Remove from the pending ones of rules.txt, it has no hits: ${rule}`);
if (passages.length === 0) console.log('✖ no text found');
process.exitCode = forbidden.length + problems.length > 0 || passages.length === 0 ? 1 : 0;
