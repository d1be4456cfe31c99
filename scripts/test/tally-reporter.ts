import path from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { SLOW, type Tally } from './tally.ts';

/** A reporter for `node --test` that writes one `Tally` as JSON at the end, or when SIGINT interrupts the tests. */
export default async function* reportTally(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const tally: Omit<Tally, 'uses'> = { passed: 0, slow: 0, failed: [], skipped: [] };
  for await (const { type, data } of events) {
    if (type === 'test:fail' && !isConsequence(data.details.error))
      tally.failed.push({ ...entryOf(data), error: messageOf(data.details.error) });
    if (type === 'test:pass') {
      if (data.skip === SLOW) tally.slow++;
      else if (data.skip !== undefined) tally.skipped.push({ ...entryOf(data), reason: reasonOf(data) });
      else if (data.details.type !== 'suite') tally.passed++;
    }
    if (type === 'test:interrupted') {
      tally.failed.push(...data.tests.map((test) => ({ ...entryOf(test), error: 'did not end' })));
      // The process exits without an end of the events.
      yield JSON.stringify(tally);
    }
  }
  yield JSON.stringify(tally);
}

/** Returns whether a suite, a file, or a test failed only because a test in it failed. */
function isConsequence(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed';
}

function entryOf({ name, file = '' }: { name: string; file?: string }) {
  return { file: path.relative('', file), name };
}

/** Returns the error of a test, or the reason why the runner stopped it. */
function messageOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function reasonOf({ skip, details }: { skip?: string | boolean; details: { type?: string } }): string {
  const reason = typeof skip === 'string' && skip !== '' ? skip : 'no reason is given';
  return details.type === 'suite' ? `${reason} (the whole suite)` : reason;
}
