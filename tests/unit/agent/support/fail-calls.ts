import type { TestContext } from 'node:test';
import { codedError } from '../../../support/coded-error.ts';
import { mockCalls } from './mock-calls.ts';

const NAMES = ['linkSync', 'renameSync', 'openSync', 'fstatSync', 'mkdirSync'] as const;

export type Call = (typeof NAMES)[number];

/**
 * Simulates a failing volume: returns an error code, if any, for each call by name and arguments. Returns the function
 * that ends it.
 */
export function failCalls(t: TestContext, codeOf: (name: Call, args: unknown[]) => string | undefined): () => void {
  return mockCalls(t, NAMES, (name, args, real) => {
    const code = codeOf(name, args);
    if (code) throw codedError(code);
    return real(...args);
  });
}
