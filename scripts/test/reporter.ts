import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { spec, type TestEvent } from 'node:test/reporters';
import { SLOW, type Tally } from './tally.ts';

/**
 * A reporter for `node --test`: Node's readable output without the totals, which mean little for one of many processes.
 * Writes the `Tally` as JSON to the file TEST_TALLY at the end, or when SIGINT interrupts the tests.
 */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(tallied(events)).pipe(new spec());
}

async function* tallied(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  const tally: Omit<Tally, 'uses'> = { passed: 0, slow: 0, failed: [], skipped: [] };
  const write = () => writeFileSync(process.env.TEST_TALLY ?? '', JSON.stringify(tally));
  for await (const event of events) {
    const { type, data } = event;
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
      write();
    }
    const isTotal = type === 'test:diagnostic' && data.file === undefined;
    if (!isTotal) yield event;
  }
  write();
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
