import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

export type RealCall = (...args: unknown[]) => unknown;

/** Puts something in the way of synchronous calls of node:fs; gives what ends it. */
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
  return () => {
    for (const mock of mocks) mock.mock.restore();
    syncBuiltinESMExports();
  };
}
