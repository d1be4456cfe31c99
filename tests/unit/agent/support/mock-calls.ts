import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

export type RealCall = (...args: unknown[]) => unknown;

/** What is still in the way, by test. The runner restores the methods after a test, but not their imports by name. */
const active = new WeakMap<TestContext, Set<() => void>>();

/** Puts something in the way of synchronous calls of node:fs; gives what ends it, at the latest with the test. */
export function mockCalls<Name extends keyof typeof fs>(
  t: TestContext,
  names: readonly Name[],
  play: (name: Name, args: unknown[], real: RealCall) => unknown,
): () => void {
  const mocks = names.map((name) => {
    const real = fs[name] as RealCall;
    const played = (...args: unknown[]) => {
      // The runner keeps every call with its stack: gigabytes in a long run.
      mock.mock.resetCalls();
      return play(name, args, real);
    };
    const mock = t.mock.method(fs, name as 'linkSync', played as never);
    return mock;
  });
  syncBuiltinESMExports();
  const ends = endsOf(t);
  const end = () => {
    ends.delete(end);
    for (const mock of mocks) mock.mock.restore();
    syncBuiltinESMExports();
  };
  ends.add(end);
  return end;
}

function endsOf(t: TestContext): Set<() => void> {
  const known = active.get(t);
  if (known) return known;
  const ends = new Set<() => void>();
  active.set(t, ends);
  t.after(() => {
    for (const end of [...ends].reverse()) end();
  });
  return ends;
}
