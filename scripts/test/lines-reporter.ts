import { Readable } from 'node:stream';
import { spec, type TestEvent } from 'node:test/reporters';

/** Node's readable output without the totals, which mean little for one of many processes. */
export default async function* reportLines(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(withoutTotals(events)).pipe(new spec());
}

async function* withoutTotals(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    const isTotal = event.type === 'test:diagnostic' && event.data.file === undefined;
    if (!isTotal) yield event;
  }
}
