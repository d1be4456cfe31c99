import type { Rule } from './rule.ts';

/** A colon after a word: not after a key such as `spec.git.ref`, `onConflict`, `(drift` or `WARNING`, nor before a value. */
const colon = String.raw`(?<=[a-z)\]"_])(?<!\b[\w-]*[./A-Z][\w-]*|[({,] ?\w+|\*|\b_): (?!true\b|false\b|_|"|\d|\()`;
const clause = String.raw`(?:(?!\n\n)[^.!?|:;]|[.:](?=\S))`;

/** How pages, sentences and descriptions are built. */
export const STRUCTURE: Rule[] = [
  {
    name: 'two colons in a sentence',
    find: [[new RegExp(`${colon}${clause}{0,200}[a-z]{2}${clause}{0,100}${colon}`), 'two sentences']],
    apart: true,
  },
  {
    name: 'After this page',
    find: [[/^After this page/, 'This page shows you how to …']],
    kinds: ['page'],
    apart: true,
  },
  {
    name: 'description that is a question',
    find: [[/^(?:Whether|How|What|Where|Why|Who)\b/, 'a verb or a noun: Skip …, Maximum …']],
    kinds: ['message'],
    files: /^shared\/api\//,
    apart: true,
  },
];
