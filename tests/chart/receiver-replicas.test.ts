import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { annotationsOf, type Receiver, startReceiver } from '../integration/receiver/start-receiver.ts';
import { connectCluster } from '../support/cluster.ts';
import { slow } from '../support/depth.ts';
import { startSlowLink } from '../support/slow-link.ts';
import { until } from '../support/until.ts';
import { installReceiverRights } from './support/install-receiver-rights.ts';

const cluster = await connectCluster();

/** Returns the environment of a program whose clock is ahead by this many milliseconds. */
function wrongClock(byMs: number): Record<string, string> {
  const script = `const D=Date;globalThis.Date=class extends D{constructor(...a){a.length?super(...a):super(D.now()+${byMs})}static now(){return D.now()+${byMs}}}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** A copy of a kubeconfig that leads to another address of the same API server. */
async function through(url: string, kubeconfig: string): Promise<string> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  config.clusters[0].cluster.server = url;
  const file = `${kubeconfig}.linked`;
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

/** Waits until this many deliveries have reached a replica, and have no response. */
async function untilQueued(receiver: Receiver, count: number): Promise<void> {
  await until(async () => await (await fetch(receiver.metricsUrl)).text(), {
    describe: `${count} queued deliveries`,
    accept: (page) => page.includes(`\nsync_receiver_queued_deliveries ${count}\n`),
  });
}

async function setUp(t: TestContext) {
  const rights = await installReceiverRights(t);
  const target = `${rights.namespace}/demo`;
  return {
    ...rights,
    target,
    stored: () => annotationsOf(cluster, rights.namespace, 'demo'),
    ask: async (receiver: Receiver, ref: string) => {
      const { status, body } = await receiver.post(target, { ref });
      return { status, superseded: body.superseded === true };
    },
  };
}

const accepted = { status: 202, superseded: false };
const superseded = { status: 202, superseded: true };

test("a late retry of one replica doesn't overwrite a newer delivery of another replica", async (t) => {
  const { kubeconfig, ask, stored } = await setUp(t);
  const link = await startSlowLink(t, cluster.url);
  const slow = await startReceiver(t, await through(link.url, kubeconfig));
  const quick = await startReceiver(t, kubeconfig);
  assert.deepEqual(await ask(slow, 'v1'), accepted);

  link.hold();
  const late = [ask(slow, 'v2'), ask(slow, 'refs/heads/main')];
  // The policy tolerates 2 s between the arrivals of two deliveries.
  await untilQueued(slow, late.length);
  await sleep(2500);
  assert.deepEqual(await ask(quick, 'v3'), accepted);
  link.release();
  assert.deepEqual(await Promise.all(late), [superseded, accepted]);
  const annotations = await stored();
  assert.equal(annotations['sync.io/requested-ref'], 'v3');
  assert.equal(annotations['sync.io/pushed-ref'], 'refs/heads/main', 'what was not older is stored');
  assert.deepEqual(await ask(slow, 'v4'), accepted, 'and the slow replica goes on');
});

test('a replica with a wrong clock accepts a signature with the right time', slow, async (t) => {
  const { kubeconfig, target } = await setUp(t);
  const receiver = await startReceiver(t, kubeconfig, { ...wrongClock(-3_600_000), WEBHOOK_HMAC_SECRET: 'key' });
  const body = '{"ref":"v1"}';
  const postSigned = async (time: number) => {
    const signature = createHmac('sha256', 'key').update(`m.${time}.${body}`).digest('base64');
    const headers = { 'webhook-id': 'm', 'webhook-timestamp': `${time}`, 'webhook-signature': `v1,${signature}` };
    const answer = await receiver.post(target, body, headers);
    return [answer.status, answer.body.reason];
  };
  const now = Math.floor(Date.now() / 1000);
  assert.deepEqual(await postSigned(now), [202, undefined]);
  assert.deepEqual(await postSigned(now - 3600), [401, 'Expired']);
});

for (const [name, byMs] of [
  ['an hour behind', -3_600_000],
  ['four seconds ahead', 4000],
] as const) {
  test(`a replica whose clock is ${name} loses no request, and causes no loss in another replica`, slow, async (t) => {
    const { kubeconfig, ask, stored } = await setUp(t);
    const right = await startReceiver(t, kubeconfig);
    const wrong = await startReceiver(t, kubeconfig, wrongClock(byMs));
    assert.deepEqual(await ask(right, 'v1'), accepted);
    for (let i = 2; i < 6; i++) {
      const askedAt = Date.now();
      assert.deepEqual(await ask(i % 2 ? right : wrong, `v${i}`), accepted);
      const annotations = await stored();
      assert.equal(annotations['sync.io/requested-ref'], `v${i}`);
      // The first response of the API server has corrected its time.
      const at = Date.parse(String(annotations['sync.io/requested-at']));
      if (i > 2) assert.ok(at > askedAt - 2000 && at < Date.now() + 2000, `${at}, asked at ${askedAt}`);
    }
  });
}
