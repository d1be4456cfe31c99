import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import type { FoundRefs } from '../../../../controller/polling/query-result.ts';
import { SharedQuery } from '../../../../controller/polling/shared-query.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';

test('a resource with a range hears of other numbers of tags, and of a range that is too large now', async () => {
  const refs = new Map([['refs/tags/v1', 'a'.repeat(40)]]);
  const listed = (count: number, ...skipped: string[]): FoundRefs => ({
    refs,
    tags: { counts: new Map([['', count]]), skipped: new Set(skipped) },
  });
  const answers = [listed(1), listed(1), listed(2), listed(2, '~2')];
  const enqueued: string[] = [];
  const query = new SharedQuery({
    id: 'id',
    host: 'git.test',
    namespace: 'ns',
    client: { query: async () => answers.shift() as FoundRefs },
    commit: undefined,
    limiter: new HostLimiter(DEFAULT_LIMITS),
    listBudget: { waitMs: () => 0, take: () => true },
    enqueue: (key: string) => enqueued.push(key),
  } as unknown as ConstructorParameters<typeof SharedQuery>[0]);
  query.subscribe('ns/a', { prefixes: [], range: '~2', intervalMs: 3_600_000, event: undefined, isUrgent: false });
  const poll = async () => {
    enqueued.length = 0;
    query.refresh();
    await query.run(new AbortController().signal, async () => {});
    return enqueued.length;
  };
  await poll();
  assert.deepEqual([await poll(), await poll(), await poll()], [0, 1, 1]);
  query.stop();
});
