import type { Hit } from './find-hits.ts';
import { type Passage, wordsIn } from './passage.ts';
import type { Rule } from './rules.ts';

/** Returns the hits that a rule doesn't allow: all, or those of a page, or of a kind of text, that has too many. */
export function forbiddenHits(passages: Passage[], hits: Hit[], { withPending }: { withPending: boolean }): Hit[] {
  const nameOf = ({ kind, file }: Pick<Passage, 'kind' | 'file'>) => (kind === 'page' ? file : kind);
  const texts = Map.groupBy(passages, nameOf);
  return [...Map.groupBy(hits, nameOf)].flatMap(([name, members]) => {
    const words = (texts.get(name) ?? []).reduce((sum, { text }) => sum + wordsIn(text), 0);
    return [...Map.groupBy(members, ({ rule }) => rule)]
      .filter(([{ pending }, [hit]]) => withPending || !(hit && pending.includes(hit.kind)))
      .flatMap(([rule, same]) => (same.length > allowed(rule, words) ? same : []));
  });
}

/** Number of hits that are ordinary English in a text; one in a short text. */
const allowed = ({ budget }: Rule, words: number): number =>
  budget === undefined ? 0 : Math.max(1, (budget * words) / 1000);
