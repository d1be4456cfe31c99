import type { Hit } from './find-hits.ts';
import { type Kind, type Passage, wordsIn } from './passage.ts';
import { RULES, type Rule } from './rules.ts';

/** Telltale constructions per 1,000 words. */
interface Ceilings extends Record<Kind, number> {
  /** Ceiling for each page; `page` is the ceiling of the median page. */
  'worst page': number;
}

/** Aims for the text, which `npm run prose -- FILES` checks. */
export const AIMS: Ceilings = {
  'worst page': 6,
  page: 2,
  chart: 4,
  message: 4,
  'doc comment': 4,
  comment: 4,
  identifier: 0,
};

/** `npm run check` fails above these. They're the aims, except for two fields of the manifest on the volume. */
export const CEILINGS: Ceilings = { ...AIMS, identifier: 0.1 };

/** Text of one kind: a page, or all comments. */
export interface Density {
  name: string;
  kind: Kind;
  words: number;
  hits: Hit[];
  /** Telltale constructions per 1,000 words. */
  density: number;
}

/** Measures each page, and each other kind of text as a whole. */
export function measure(passages: Passage[], hits: Hit[]): Density[] {
  const nameOf = ({ kind, file }: Pick<Passage, 'kind' | 'file'>) => (kind === 'page' ? file : kind);
  const hitsOf = Map.groupBy(hits, nameOf);
  return [...Map.groupBy(passages, nameOf)].map(([name, members]) => {
    const words = members.reduce((sum, { text }) => sum + wordsIn(text), 0);
    const found = hitsOf.get(name) ?? [];
    const telltale = found.filter(({ rule }) => !rule.apart);
    const excess = [...Map.groupBy(telltale, ({ rule }) => rule)].reduce(
      (sum, [rule, same]) => sum + Math.max(0, same.length - allowed(rule, words)),
      0,
    );
    return {
      name,
      kind: members[0]?.kind ?? 'page',
      words,
      hits: found,
      density: (1000 * excess) / Math.max(words, 1),
    };
  });
}

/** Number of hits that are ordinary English in a text; one in a short text. */
const allowed = ({ budget }: Rule, words: number): number =>
  budget === undefined ? 0 : Math.max(1, (budget * words) / 1000);

function medianOf(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Returns the hits that a rule doesn't allow: all hits, or the hits of a text in which its budget is exceeded. */
export const forbiddenHits = (densities: Density[], { withPending }: { withPending: boolean }): Hit[] =>
  densities.flatMap(({ kind, words, hits }) =>
    [...Map.groupBy(hits, ({ rule }) => rule)]
      .filter(([rule, same]) => (withPending || !rule.pending.includes(kind)) && same.length > allowed(rule, words))
      .flatMap(([, same]) => same),
  );

/** Describes each text that is above its ceiling. */
export function aboveCeiling(densities: Density[], ceilings: Ceilings): string[] {
  const pages = densities.filter(({ kind }) => kind === 'page').map(({ density }) => density);
  const check = (name: string, density: number, ceiling: number) =>
    density > ceiling ? [`${name}: ${density.toFixed(1)} per 1,000 words, at most ${ceiling}`] : [];
  return [
    ...check('the median page', medianOf(pages), ceilings.page),
    ...densities.flatMap(({ name, kind, density }) =>
      check(name, density, ceilings[kind === 'page' ? 'worst page' : kind]),
    ),
  ];
}

/** Returns the rules that are pending for a kind of text without a hit. */
export const doneRules = (hits: Hit[]): string[] =>
  RULES.flatMap((rule) =>
    rule.pending
      .filter((kind) => !hits.some((hit) => hit.kind === kind && hit.rule === rule))
      .map((kind) => `${kind}: ${rule.name}`),
  );

/** Draws the density of each kind of text and of each page, the worst first. */
export function tableOf(densities: Density[]): string {
  const sorted = densities.toSorted((one, other) => other.density - one.density);
  const pages = sorted.filter(({ kind }) => kind === 'page');
  const row = (density: number, hits: number | string, words: number | string, name: string) =>
    `${density.toFixed(1).padStart(7)} ${String(hits).padStart(6)} ${String(words).padStart(7)}  ${name}`;
  const lines = [...sorted.filter(({ kind }) => kind !== 'page'), ...pages].map(({ name, words, hits, density }) =>
    row(density, hits.length, words, name),
  );
  if (pages.length > 1) lines.push(row(medianOf(pages.map(({ density }) => density)), '', '', 'the median page'));
  return ['per 1,000  hits   words', ...lines].join('\n');
}
