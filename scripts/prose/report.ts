import { type Density, medianOf } from './judge.ts';
import { type Passage, wordsIn } from './passage.ts';

/** Draws the density of each kind of text and of each page, the worst first. */
export function tableOf(densities: Density[]): string {
  const sorted = densities.toSorted((one, other) => other.density - one.density);
  const pages = sorted.filter(({ kind }) => kind === 'page');
  const lines = [...sorted.filter(({ kind }) => kind !== 'page'), ...pages].map(
    ({ name, words, hits, density }) =>
      `${density.toFixed(1).padStart(7)} ${String(hits.length).padStart(6)} ${String(words).padStart(7)}  ${name}`,
  );
  const median = medianOf(pages.map(({ density }) => density))
    .toFixed(1)
    .padStart(7);
  if (pages.length > 1) lines.push(`${median}                 the median page`);
  return ['per 1,000  hits   words', ...lines].join('\n');
}

/** Counts contractions and examples in the pages: native authors of documentation use at least 10 of each. */
export function vocabularyOf(passages: Passage[]): string {
  const text = passages.flatMap((passage) => (passage.kind === 'page' ? [passage.text] : [])).join('\n');
  const perTenThousand = (pattern: RegExp) =>
    ((10_000 * [...text.matchAll(pattern)].length) / Math.max(wordsIn(text), 1)).toFixed(1);
  const contractions = perTenThousand(/\b(?:\w+n['’]t|\w+['’](?:re|ll|ve)|(?:it|that|there|here|let|what)['’]s)\b/gi);
  const examples = perTenThousand(/\b(?:examples?\b|e\.g\.)/gi);
  return `Pages per 10,000 words: ${contractions} contractions, ${examples} examples (aim: 10 each).`;
}
