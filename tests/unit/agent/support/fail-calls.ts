import type { TestContext } from 'node:test';
import { codedError } from '../../../support/coded-error.ts';
import { mockCalls } from './mock-calls.ts';

const NAMES = ['linkSync', 'renameSync', 'openSync', 'fstatSync', 'mkdirSync'] as const;

export type Call = (typeof NAMES)[number];

/** Plays a volume that fails: says for each call by its name and arguments with which code it does, if it does. Gives what ends it. */
export function failCalls(t: TestContext, codeOf: (name: Call, args: unknown[]) => string | undefined): () => void {
  return mockCalls(t, NAMES, (name, args, real) => {
    const code = codeOf(name, args);
    if (code) throw codedError(code);
    return real(...args);
  });
}
