import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, suite, type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { connectCluster } from '../support/cluster.ts';
import { markReady } from '../support/gateway-pods.ts';
import { applyGatewaySync, untilGatewaySync } from '../support/gateway-syncs.ts';
import { gatewayStarter, startPath } from '../support/start-path.ts';
import { startUi } from '../support/start-ui.ts';
import { until } from '../support/until.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';

const waves = [
  { name: 'canary', gateways: 1 },
  { name: 'west', approval: true },
];

/** Starts a receiver, a controller, and three gateways with a real git server; changes are delivered in waves. */
async function arrange(t: TestContext) {
  const world = await startPath(t, { 'config/a.txt': 'first' });
  const { namespace, name } = world.address;
  const data = [world.data];
  for (const pod of ['gateway-1', 'gateway-2']) {
    const gateway = await gatewayStarter(t, namespace, { name: pod });
    data.push(gateway.data);
    await gateway.start();
  }
  for (const pod of ['gateway-0', 'gateway-1', 'gateway-2']) await markReady(namespace, pod);
  await applyGatewaySync(world.address, { repo: world.repository.url }, { rollout: { waves, previewTimeout: '0s' } });
  await untilGatewaySync(
    world.address,
    'three gateways in sync',
    ({ status }) => status?.gateways?.synced === 3 && status.rollout?.phase === 'Complete',
    120_000,
  );
  const { address } = await startUi(t, (await connectCluster()).kubeconfig, '-n', namespace);
  const page = await openPage(t, address);
  await page.getByRole('link', { name }).click();
  return { ...world, data, page };
}

/** Names of the looks of all dots, in the order of the waves. */
const looksOf = (page: Page) =>
  page.locator('.waves .dot').evaluateAll((dots) => dots.map((dot) => dot.getAttribute('data-look')).join(' '));

const untilLooks = (page: Page, looks: string) =>
  until(() => looksOf(page), { describe: looks, accept: (seen) => seen === looks });

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate('document.activeElement.textContent')) === name) return;
  }
  assert.fail(`Tab does not lead to ${name}`);
}

suite('the page of kubectl stoker ui with real gateways', { skip: skipWithoutChromium }, () => {
  after(closeBrowser);

  test('shows a push on each gateway, and lets a user approve it with only the keyboard', async (t) => {
    const { page, address, repository, post, data } = await arrange(t);
    await untilLooks(page, 'new new new');
    const commit = await repository.commit({ files: { 'config/a.txt': 'second' } });
    assert.equal(await post('push', { ref: 'refs/heads/main' }), 202);

    await untilLooks(page, 'new old old');
    await page.locator('.fact, .facts').getByText(commit.slice(0, 8)).waitFor();
    await page.locator('.wave', { hasText: 'canary' }).getByText('done').waitFor();
    const contents = () => Promise.all(data.map((directory) => readFile(path.join(directory, 'config/a.txt'), 'utf8')));
    assert.deepEqual((await contents()).sort(), ['first', 'first', 'second']);

    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await tabTo(page, 'Approve');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    const { name } = address;
    await dialog
      .getByText(`${name}-2 (${commit.slice(0, 8)}, main) goes to wave west as soon as the previous waves are done.`)
      .waitFor();
    await tabTo(page, 'Approve');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await untilLooks(page, 'new new new');
    assert.deepEqual(await contents(), ['second', 'second', 'second']);
    await page.locator('#state', { hasText: 'ready' }).waitFor();
    await page.locator('#history').getByText(commit.slice(0, 8)).waitFor();
    await page.locator('#history').getByText('approved by admin').waitFor();
    await page.locator('#trace').getByText('the receiver accepted the webhook').waitFor();
  });
});
