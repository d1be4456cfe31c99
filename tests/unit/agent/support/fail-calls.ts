import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

const NAMES = ['linkSync', 'renameSync', 'openSync', 'fstatSync', 'mkdirSync'] as const;

export type Call = (typeof NAMES)[number];

/** Plays a volume that fails: says for each call by its name and arguments with which code it does, if it does. Gives what ends it. */
export function failCalls(t: TestContext, codeOf: (name: Call, args: unknown[]) => string | undefined): () => void {
  const mocks = NAMES.map((name) => {
    const real = fs[name] as (...args: unknown[]) => unknown;
    return t.mock.method(fs, name, ((...args: unknown[]) => {
      const code = codeOf(name, args);
      if (code) throw Object.assign(new Error(`${code}: played`), { code });
      return real(...args);
    }) as never);
  });
  syncBuiltinESMExports();
  return () => {
    for (const mock of mocks) mock.mock.restore();
    syncBuiltinESMExports();
  };
}
