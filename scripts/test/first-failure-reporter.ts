import type { TestEvent } from 'node:test/reporters';

/** A reporter for `node --test --test-isolation=none` that prints nothing, and ends the process when a test fails. */
// biome-ignore lint/correctness/useYield: a reporter is a generator, even if it prints nothing
export default async function* endAtFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type } of events) if (type === 'test:fail') process.exit(1);
}
