import { exit } from 'node:process';
import type { TestEvent } from 'node:test/reporters';

/** A reporter for `node --test --test-isolation=none` that ends the process when a test fails: one is enough to notice a mutant. */
export default async function* stopAtFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type } of events) if (type === 'test:fail') exit(1);
  yield '';
}
