import { lineAt, type Passage } from './passage.ts';
import { RULES, type Rule } from './rules.ts';

/** A phrase that a rule objects to. */
export interface Hit extends Pick<Passage, 'file' | 'kind' | 'line'> {
  rule: Rule;
  phrase: string;
}

const compiled = RULES.map((rule) => ({
  rule,
  patterns: rule.find.map(({ source, flags }) => new RegExp(source.replaceAll(' ', String.raw`\s+`), `${flags}g`)),
}));

/** Finds the phrases in a passage that no native writer would write. Of two that overlap, the first one counts. */
export function findHits(passage: Passage): Hit[] {
  const { file, kind, line, text } = passage;
  const found = compiled
    .filter(({ rule }) => applies(rule, passage))
    .flatMap(({ rule, patterns }) =>
      patterns.flatMap((pattern) =>
        [...text.matchAll(pattern)].map(({ 0: phrase, index }) => ({
          rule,
          index,
          phrase,
          end: index + phrase.length,
        })),
      ),
    )
    .sort((one, other) => one.index - other.index);

  return found
    .filter(({ rule, index }, position) =>
      found.slice(0, position).every((earlier) => earlier.end <= index || earlier.rule.apart !== rule.apart),
    )
    .map(({ rule, index, phrase }) => ({
      file,
      kind,
      line: lineAt(text, index) + line - 1,
      rule,
      phrase: kind === 'identifier' ? text : phrase.trim().replaceAll(/\s+/g, ' '),
    }));
}

const applies = ({ kinds, files }: Rule, { kind, file }: Passage): boolean =>
  (kinds?.includes(kind) ?? kind !== 'identifier') && (files?.test(file) ?? true);
