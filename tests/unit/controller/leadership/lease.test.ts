import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaderLease } from '../../../../controller/leadership/lease.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';

test('a lease is valid from when it was requested, however late the response is', async (t) => {
  const clock = { now: 0 };
  const create = async (_path: string, lease: object) => {
    clock.now += 4_000;
    return lease;
  };
  const client = clientWith({ getAs: async () => undefined, create });
  const log = createLogger('test', { level: 'silent' });
  const now = () => clock.now;
  const lease = new LeaderLease({ client, namespace: 'ns', name: 'test', replica: 'one', log, giveUpMs: 10_000, now });
  await lease.acquire(t.signal);
  clock.now = 9_999;
  assert.equal(lease.isHeld, true);
  clock.now = 10_000;
  assert.equal(lease.isHeld, false);
});
