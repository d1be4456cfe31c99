import type { Mutant } from './list-mutants.ts';

/** A mutant that no test can notice, or that does not matter. */
export interface Equivalent extends Pick<Mutant, 'file' | 'what'> {
  /** The line in which it begins, without the space around it. */
  line: string;
  why: string;
}

/** Survivors that somebody has looked at. What is listed here and is not there any more is an error. */
export const EQUIVALENTS: readonly Equivalent[] = [
  ...['< → <=', '1 → 2'].map((what) => ({
    ...{ file: 'shared/domain/bounded-labels.ts', what },
    line: 'const sorted = [...labels].sort(([a], [b]) => (a < b ? -1 : 1));',
    why: 'keys of labels are all different, and a sort looks only at signs',
  })),
  {
    ...{ file: 'shared/domain/glob.ts', what: '64 → 65', line: 'let room = new Uint32Array(64);' },
    why: 'how much room there is at first: it grows where it is needed',
  },
  ...['condition → true', '< → <=', '2 → 3'].map((what) => ({
    ...{ file: 'shared/domain/glob.ts', what },
    line: 'if (room.length < text.length) room = new Uint32Array(2 * text.length);',
    why: 'more room than is needed',
  })),
  {
    ...{ file: 'shared/domain/is-bounded-json.ts', what: '< → <=' },
    line: 'for (let index = 0; index < bytes.length; index += 1) {',
    why: 'behind the end there is no byte that counts',
  },
  {
    ...{ file: 'receiver/sources/bitbucket.ts', what: '0 → 1' },
    line: "return name ? { ref: folder + name, time: Date.parse(date ?? target?.date ?? '') || 0 } : 'NoRef';",
    why: 'no ref is of the first millisecond of 1970',
  },
];
