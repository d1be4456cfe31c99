import { after } from 'node:test';

/** The owner of a program or an object: a test, or all tests of a file. */
export interface Scope {
  after(end: () => unknown): void;
}

const ends = new WeakMap<Scope, (() => unknown)[]>();

/**
 * Calls a function after a test: the last one first, because a program is killed before its directory is removed, and all
 * of them even if one fails. Hooks of `t.after` run in the opposite order, and a failed one would end the others.
 */
export function cleanUp(scope: Scope, end: () => unknown): void {
  const known = ends.get(scope);
  if (known) {
    known.push(end);
    return;
  }
  const all = [end];
  ends.set(scope, all);
  scope.after(() => callAll(all.toReversed()));
}

async function callAll(functions: (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const end of functions) {
    try {
      await end();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors);
}

/** Returns the scope of a suite, or of the file outside of one, for programs that its tests share. */
export function scopeOfSuite(): Scope {
  const functions: (() => unknown)[] = [];
  after(() => callAll(functions.toReversed()));
  return { after: (end) => void functions.push(end) };
}
