import { type TestContext, test } from 'node:test';
import { describeNamespaces } from './describe-namespaces.ts';

/** Declares a test that builds on those before it. */
export type Step = (name: string, work: (t: TestContext) => Promise<void>) => void;

/** Makes steps of one story: when one fails, all that can explain it is printed and the rest is skipped. */
export function createSteps(...namespaces: string[]): Step {
  let failed = false;
  return (name, work) =>
    test(name, { timeout: 900_000 }, async (t) => {
      if (failed) return t.skip('an earlier step failed');
      try {
        await work(t);
      } catch (error) {
        failed = true;
        process.stderr.write(`${await describeNamespaces(...namespaces)}\n`);
        throw error;
      }
    });
}
