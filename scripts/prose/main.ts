// Checks that text is plain English: pages, the chart, messages, comments and identifiers. Vale and textlint read pages
// and comments, but neither literals nor identifiers, and have no budgets for phrases that are fine now and then.
//
// Without arguments it fails if text breaks a rule that isn't pending. With files or directories it prints every hit in
// them, and fails if they break any rule.
import { findHits, type Hit } from './find-hits.ts';
import { howTosWithoutExample, longCommitSubjects } from './find-problems.ts';
import { type Passage, wordsIn } from './passage.ts';
import { readTexts } from './read-texts.ts';
import type { Rule } from './rules.ts';

const paths = process.argv.slice(2);
const passages = await readTexts(paths);
const hits = passages.flatMap(findHits);

const all = paths.length === 0;
const forbidden = forbiddenHits();
const problems = [
  ...(all ? [...(await howTosWithoutExample()), ...(await longCommitSubjects())] : []),
  ...(passages.length === 0 ? ['no text found'] : []),
];

function lineOf({ file, line, phrase, instead, rule }: Hit): string {
  const budget = rule.budget === undefined ? '' : `, ${rule.budget} per 1,000 words are fine`;
  return `${file}:${line}  ${phrase}  → ${instead} (${rule.name}${budget})`;
}

/** Returns the hits that a rule doesn't allow: all, or those of a page, or of a kind of text, that has too many. */
function forbiddenHits(): Hit[] {
  const nameOf = ({ kind, file }: Pick<Passage, 'kind' | 'file'>) => (kind === 'page' ? file : kind);
  const texts = Map.groupBy(passages, nameOf);
  return [...Map.groupBy(hits, nameOf)].flatMap(([name, members]) => {
    const words = (texts.get(name) ?? []).reduce((sum, { text }) => sum + wordsIn(text), 0);
    return [...Map.groupBy(members, ({ rule }) => rule)]
      .filter(([{ pending }, [hit]]) => !all || !(hit && pending.includes(hit.kind)))
      .flatMap(([rule, same]) => (same.length > allowed(rule, words) ? same : []));
  });
}

/** Number of hits that are ordinary English in a text; one in a short text. */
function allowed({ budget }: Rule, words: number): number {
  return budget === undefined ? 0 : Math.max(1, (budget * words) / 1000);
}

for (const hit of all ? forbidden : hits) console.log(lineOf(hit));
for (const problem of problems) console.log(`✖ ${problem}`);
process.exitCode = forbidden.length + problems.length > 0 ? 1 : 0;
