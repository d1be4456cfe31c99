import { readFileSync } from 'node:fs';
import type { Kind } from './passage.ts';

/** Phrases that a native author wouldn't write, for one reason. */
export interface Rule {
  name: string;
  /** Patterns, each with the text to write instead. A space also matches the end of a line. */
  find: [RegExp, string][];
  /** Hits per 1,000 words that are ordinary English: only more count. Without a budget, no hit is allowed. */
  budget: number | undefined;
  /** The kind of text that the rule is about; if omitted, all but identifiers. */
  kind: Kind | undefined;
  files: RegExp | undefined;
  /** Kinds of text that still break the rule. `npm run check` enforces it if a kind is removed from the list. */
  pending: string[];
  /** The rule is about terms or structure, so its hits can overlap with others. */
  apart: boolean;
}

/** Parts of patterns that rules.txt names. */
const PARTS: Record<string, string> = {
  /** The beginning of a sentence, a clause, or a cell of a table. */
  start: String.raw`(?<=^|[.:;|] |\*\*)`,
  'unless a question': String.raw`(?![^.]*\?)`,
  be: String.raw`\b(?:is|are|was|were|be|been|being)`,
  /** A colon after a word: not after a key such as `spec.git.ref`, `onConflict`, `(drift` or `WARNING`, nor before a value. */
  colon: String.raw`(?<=[a-z)\]"_])(?<!\b[\w-]*[./A-Z][\w-]*|[({,] ?\w+|\*|\b_): (?!true\b|false\b|_|"|\d|\()`,
  clause: String.raw`(?:(?!\n\n)[^.!?|:;]|[.:](?=\S))`,
};

/** Reads the rules: a line with the name and options of each, then its patterns. */
function readRules(text: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of text.split('\n')) {
    const [, source = '', flags = '', instead = ''] = /^ {2}\/(.*)\/(i?) → (.*)$/.exec(line) ?? [];
    if (source !== '') rules.at(-1)?.find.push([patternOf(source, flags), instead]);
    else if (line !== '' && !line.startsWith('#')) rules.push(ruleOf(line));
  }
  return rules;
}

function ruleOf(line: string): Rule {
  const [name = '', ...options] = line.split(' | ');
  const optionOf = (option: string) => options.find((each) => each.startsWith(`${option} `))?.slice(option.length + 1);
  const budget = optionOf('budget');
  const files = optionOf('files');
  return {
    name,
    find: [],
    pending: optionOf('pending')?.split(', ') ?? [],
    apart: options.includes('apart'),
    budget: budget === undefined ? undefined : Number(budget),
    kind: optionOf('kind') as Kind | undefined,
    files: files === undefined ? undefined : new RegExp(files),
  };
}

function patternOf(source: string, flags: string): RegExp {
  const expanded = source.replaceAll(/\{([a-z ]+)\}/g, (all, name: string) => PARTS[name] ?? all);
  return new RegExp(expanded.replaceAll(' ', String.raw`\s+`), `${flags}g`);
}

export const RULES: Rule[] = readRules(readFileSync(new URL('rules.txt', import.meta.url), 'utf8'));
