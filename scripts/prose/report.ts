import { type Density, medianOf } from './judge.ts';

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
