import { lineAt, type Passage } from './passage.ts';
import { RULES, type Rule } from './rules.ts';

/** A phrase that a rule objects to. */
export interface Hit extends Pick<Passage, 'file' | 'kind' | 'line'> {
  rule: Rule;
  phrase: string;
  instead: string;
}

const patterns = RULES.flatMap((rule) => rule.find.map(([pattern, instead]) => ({ rule, instead, pattern })));

/** Finds the phrases in a passage that a native author wouldn't write. If two overlap, only the first is reported. */
export function findHits(passage: Passage): Hit[] {
  const { file, kind, line, text } = passage;
  const found = patterns
    .filter(({ rule }) => applies(rule, passage))
    .flatMap(({ pattern, ...rest }) =>
      [...text.matchAll(pattern)].map(({ 0: phrase, index }) => ({ ...rest, index, phrase })),
    )
    .sort((one, other) => one.index - other.index);

  return found
    .filter(({ rule, index }, position) => {
      const overlaps = (earlier: (typeof found)[number]) => earlier.index + earlier.phrase.length > index;
      return !found.slice(0, position).some((each) => overlaps(each) && each.rule.apart === rule.apart);
    })
    .map(({ rule, instead, index, phrase }) => ({
      file,
      kind,
      line: lineAt(text, index) + line - 1,
      rule,
      instead,
      phrase: kind === 'identifier' ? text : phrase.trim().replaceAll(/\s+/g, ' '),
    }));
}

const applies = (rule: Rule, { kind, file }: Passage): boolean =>
  (rule.kind ? rule.kind === kind : kind !== 'identifier') && (rule.files?.test(file) ?? true);
