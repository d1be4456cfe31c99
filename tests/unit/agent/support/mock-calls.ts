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
    return t.mock.method(fs, name as 'linkSync', ((...args: unknown[]) => play(name, args, real)) as never);
  });
  syncBuiltinESMExports();
  return () => {
    for (const mock of mocks) mock.mock.restore();
    syncBuiltinESMExports();
  };
}
