import type { Mutant } from './list-mutants.ts';

/** A mutant that no test can notice, or that does not matter. */
export interface Equivalent extends Pick<Mutant, 'file' | 'what'> {
  /** The line in which it begins, without the space around it. */
  line: string;
  why: string;
}

/** Sorts by names or keys of which no two are the same. */
const SORTS: readonly (readonly [file: string, line: string])[] = [
  ['cli/fleet/waves.ts', '.sort((a, b) => (a.key < b.key ? -1 : 1))'],
  ['controller/intent/fold-intents.ts', 'if (one.at !== other.at) return one.at < other.at ? -1 : 1;'],
  ['controller/reconcile/discover-gateways.ts', '].sort((a, b) => (a.podName < b.podName ? -1 : 1));'],
  ['controller/rollout/places.ts', 'const members = all.toSorted((a, b) => (a.key < b.key ? -1 : 1));'],
  ['controller/rollout/wave-standing.ts', '.sort((a, b) => rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1))'],
  ['shared/domain/bounded-labels.ts', 'const sorted = [...labels].sort(([a], [b]) => (a < b ? -1 : 1));'],
  ['shared/domain/waves.ts', 'Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1)),'],
];

/** Where a rollout waits for nothing. */
const NONE: readonly (readonly [file: string, line: string])[] = [
  [
    'controller/rollout/give-up.ts',
    "return { state: inPhase({ ...state, rollout: stopped }, 'Stopped'), wait: { kind: 'none' } };",
  ],
  [
    'controller/rollout/give-up.ts',
    "return { state: isDone ? inPhase(state, 'RolledBack') : state, wait: { kind: 'none' } };",
  ],
  [
    'controller/rollout/pursue.ts',
    "return { state: noteComplete({ ...state, rollout: { ...rest, admission } }, input), wait: { kind: 'none' } };",
  ],
  ['controller/rollout/step.ts', "if (!wanted || rollout.nextCommit === undefined) return { kind: 'none' };"],
  ['controller/rollout/step.ts', "return gateOf(0, wanted, input) ?? { kind: 'none' };"],
];

/** Survivors that somebody has looked at. What is listed here and is not there any more is an error. */
export const EQUIVALENTS: readonly Equivalent[] = [
  ...SORTS.flatMap(([file, line]) =>
    ['< → <=', '1 → 2'].map((what) => ({
      ...{ file, what, line },
      why: 'what is sorted by is different for each, and a sort looks only at signs',
    })),
  ),
  {
    ...{ file: 'controller/rollout/failures.ts', what: '1 → 2' },
    line: '.sort((a, b) => (a.since < b.since ? -1 : 1))',
    why: 'a sort looks only at signs',
  },
  ...[
    { file: 'controller/rollout/words.ts', line: 'const { index = -1, waves } = standing;' },
    { file: 'controller/rollout/failures.ts', line: 'const { waves, index = -1, verified } = standing;' },
  ].map((mutant) => ({
    ...{ ...mutant, what: '1 → 2' },
    why: 'there is no wave of that number either',
  })),
  {
    ...{ file: 'controller/rollout/words.ts', what: '0 → 1' },
    line: 'if (areUnderWay || (holders.length > 0 && skipped.length === 0))',
    why: 'one alone that nobody waits for keeps no wave from ending',
  },
  {
    ...{ file: 'controller/rollout/transitions.ts', what: '0 → 1' },
    line: "const noCounts = { admitted: 0, verified: 0, failed: 0, total: 0, summary: '' };",
    why: 'all is counted before anybody reads it',
  },
  ...NONE.flatMap(([file, line]) =>
    ["'none' → ''", "kind: 'none' left out"].map((what) => ({
      ...{ file, what, line },
      why: 'nobody asks whether it is none: it is none of the others',
    })),
  ),
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
    ...{ file: 'shared/domain/glob.ts', what: 'condition → false' },
    line: 'if (groups.length === 0 && places.first > places.last) return false;',
    why: 'it only ends sooner: from no place no other one is reached',
  },
  {
    ...{ file: 'agent/plan/exclude-filter.ts', what: 'condition → false' },
    line: "if (glob === '') return undefined;",
    why: 'an empty pattern fits no path either',
  },
  {
    ...{ file: 'shared/domain/is-bounded-json.ts', what: '< → <=' },
    line: 'for (let index = 0; index < bytes.length; index += 1) {',
    why: 'behind the end there is no byte that counts',
  },
  ...[
    { what: '8 → 9', line: 'const MOST_JOINED = 8;' },
    { what: '< → <=', line: 'for (let joined = 0; joined < MOST_JOINED; joined++) {' },
    { what: '0 → 1', line: 'for (let joined = 0; joined < MOST_JOINED; joined++) {' },
  ].map((mutant) => ({
    ...{ file: 'controller/rollout/windows.ts', ...mutant },
    why: 'how far it looks ahead at once: the rest is found when that is over',
  })),
  ...[
    { what: '4096 → 4097', line: 'const MOST_RECALLED = 4_096;' },
    { what: '> → >=', line: 'if (recalledByWindow.size > MOST_RECALLED) {' },
  ].map((mutant) => ({
    ...{ file: 'controller/rollout/windows.ts', ...mutant },
    why: 'how many windows are remembered: what is forgotten is found out again',
  })),
  {
    ...{ file: 'controller/injection/missing-sidecars.ts', what: '60000 → 60001', line: 'const PERIOD_MS = 60_000;' },
    why: 'a millisecond more between two looks that nobody waits for',
  },
  {
    ...{ file: 'receiver/sources/bitbucket.ts', what: '0 → 1' },
    line: "return name ? { ref: folder + name, time: Date.parse(date ?? target?.date ?? '') || 0 } : 'NoRef';",
    why: 'no ref is of the first millisecond of 1970',
  },
];
