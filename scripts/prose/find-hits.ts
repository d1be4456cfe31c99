import { lineAt, type Passage } from './passage.ts';
import type { Rule } from './rule.ts';
import { RULES } from './rules.ts';

/** A phrase that a rule objects to. */
export interface Hit extends Pick<Passage, 'file' | 'kind' | 'line'> {
  rule: Rule;
  phrase: string;
  instead: string;
}

const compiled = RULES.flatMap((rule) =>
  rule.find.map(([{ source, flags }, instead]) => ({
    rule,
    instead,
    pattern: new RegExp(source.replaceAll(' ', String.raw`\s+`), `${flags}g`),
  })),
);

/** Finds the phrases in a passage that a native author wouldn't write. If two overlap, only the first is reported. */
export function findHits(passage: Passage): Hit[] {
  const { file, kind, line, text } = passage;
  const found = compiled
    .filter(({ rule }) => applies(rule, passage))
    .flatMap(({ pattern, ...rest }) =>
      [...text.matchAll(pattern)].map(({ 0: phrase, index }) => ({
        ...rest,
        index,
        phrase,
        end: index + phrase.length,
      })),
    )
    .sort((one, other) => one.index - other.index);

  return found
    .filter(({ rule, index }, position) =>
      found.slice(0, position).every((earlier) => earlier.end <= index || earlier.rule.apart !== rule.apart),
    )
    .map(({ rule, instead, index, phrase }) => ({
      file,
      kind,
      line: lineAt(text, index) + line - 1,
      rule,
      instead,
      phrase: kind === 'identifier' ? text : phrase.trim().replaceAll(/\s+/g, ' '),
    }));
}

const applies = ({ kinds, files }: Rule, { kind, file }: Passage): boolean =>
  (kinds?.includes(kind) ?? kind !== 'identifier') && (files?.test(file) ?? true);
