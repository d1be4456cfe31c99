import assert from 'node:assert/strict';
import { after, suite, type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { connectCluster, createNamespace } from '../support/cluster.ts';
import { untilGatewaySync } from '../support/gateway-syncs.ts';
import { startUi } from '../support/start-ui.ts';
import { until } from '../support/until.ts';
import { viewerOf } from '../support/viewer-of.ts';
import { faultsOf } from './accessibility.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';
import { gatewaysOf, statusOf, writeExampleFleet, writeResource, writeRolledBack } from './example-fleet.ts';

/** Opens the page of a namespace, with an administrator's permissions if the kubeconfig is omitted. */
async function openNamespace(
  t: TestContext,
  namespace: string,
  { kubeconfig, ...options }: { kubeconfig?: string } & Parameters<typeof openPage>[2] = {},
): Promise<Page> {
  const { address } = await startUi(t, kubeconfig ?? (await connectCluster()).kubeconfig, '-n', namespace);
  return await openPage(t, address, options);
}

/** Creates a GatewaySync of which all is in sync. */
async function writePlant(t: TestContext, status: object = {}) {
  const namespace = await createNamespace(t);
  const name = 'plant';
  const gateways = gatewaysOf({ namespace, name, count: 2 });
  await writeResource({ namespace, name }, { status: { ...statusOf(gateways, ['True', 'Synced', 'all']), ...status } });
  return { namespace, name };
}

/** The page of this GatewaySync. */
async function openPlant(t: TestContext, status: object = {}): Promise<Page> {
  const { namespace, name } = await writePlant(t, status);
  const page = await openNamespace(t, namespace);
  await page.getByRole('link', { name }).click();
  return page;
}

/** A namespace whose GatewaySyncs are each in another state. */
async function exampleNamespace(t: TestContext): Promise<string> {
  const namespace = await createNamespace(t);
  await writeExampleFleet(namespace);
  return namespace;
}

suite('the page of kubectl stoker ui', { skip: skipWithoutChromium, concurrency: 2 }, () => {
  after(closeBrowser);

  test('has no token in its address, and hides its token from scripts', async (t) => {
    const namespace = await createNamespace(t);
    const page = await openNamespace(t, namespace);
    await page.getByText('No GatewaySync found.').waitFor();
    assert.match(new URL(page.url()).pathname, /^\/[\w-]{12}\/$/);
    assert.equal(new URL(page.url()).search, '');
    assert.equal(await page.evaluate('document.cookie'), '');
    const [cookie] = await page.context().cookies(page.url());
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    await page.reload();
    await page.getByText('No GatewaySync found.').waitFor();
  });

  test('shows a viewer which permission a button needs', async (t) => {
    const { namespace, name } = await writePlant(t);
    const page = await openNamespace(t, namespace, { kubeconfig: await viewerOf(namespace) });
    await page.getByRole('link', { name }).click();
    const pause = page.getByRole('button', { name: 'Pause' });
    await page.getByText('You have read-only access').waitFor();
    assert.equal(await pause.getAttribute('aria-disabled'), 'true');
    await pause.click({ force: true });
    await page.getByRole('dialog').getByText('keep their files').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('alert').filter({ hasText: 'not allowed to change GatewaySyncs' }).waitFor();

    await page.goto(`${page.url().split('#')[0]}#/${namespace}/other`);
    await page.getByText('not found').waitFor();
  });

  test('shows untrusted content as text, and runs none of it', async (t) => {
    const namespace = await createNamespace(t);
    const evil = '<img src=x onerror="document.title=1;globalThis.hacked=1"><script>hacked=1</script>';
    const name = 'plant';
    const gateways = gatewaysOf(
      { namespace, name, count: 2 },
      { 1: { name: evil, syncStatus: 'Error', message: evil } },
    );
    await writeResource(
      { namespace, name },
      {
        status: {
          ...statusOf(gateways, ['False', 'GatewaysFailed', evil]),
          target: { ref: `javascript:${evil}`.slice(0, 200), source: 'Push' },
          lastPush: { ref: evil, at: new Date().toISOString(), outcome: 'Failed', message: evil },
        },
      },
    );
    const page = await openNamespace(t, namespace);
    await page.locator('.says', { hasText: evil }).waitFor();
    await page.getByRole('link', { name }).click();
    await page.locator('.why', { hasText: evil }).waitFor();
    await page.getByText('it was not applied').waitFor();
    await page.getByRole('button', { name: `${evil}: failed` }).click();
    await page.locator('#gateway h2', { hasText: evil }).waitFor();
    assert.equal(await page.evaluate('globalThis.hacked'), undefined);
    assert.equal(await page.locator('main img, main script, main a[href^=javascript]').count(), 0);
    page.removeAllListeners('console');
    const refused = await page.evaluate(
      `(() => { try { document.body.innerHTML = 'x'; return false; } catch { return true; } })()`,
    );
    assert.equal(refused, true, 'no text becomes elements, whatever the page does');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is accessible in ${colorScheme} mode: the fleet, one GatewaySync, and a dialog`, async (t) => {
      const namespace = await exampleNamespace(t);
      const page = await openNamespace(t, namespace, { colorScheme, reducedMotion: 'reduce' });
      await page.getByRole('link', { name: 'tills' }).waitFor();
      assert.deepEqual(await faultsOf(page), []);
      const strip = page.locator('.card', { hasText: 'tills' }).getByRole('img');
      assert.equal(await strip.getAttribute('aria-label'), '140 gateways: 3 failed · 137 new');
      await page.getByRole('link', { name: 'plant-north' }).click();
      await page.getByText('the receiver accepted').waitFor();
      await page.getByText('All gateways as a table').click();
      assert.deepEqual(await faultsOf(page), []);
      const headings = await page.getByRole('heading').allTextContents();
      for (const heading of ['plant-north', 'canary', 'Waiting gateways', 'Last delivery', 'History'])
        assert.ok(
          headings.some((text) => text.startsWith(heading)),
          `${heading}: ${headings}`,
        );
      await page.getByRole('button', { name: 'Roll back', exact: true }).click();
      await page.getByRole('dialog').getByText('all at once').waitFor();
      assert.deepEqual(await faultsOf(page), []);
      const colours = await page.evaluate(`getComputedStyle(document.body).backgroundColor`);
      assert.equal(String(colours), colorScheme === 'light' ? 'rgb(246, 247, 245)' : 'rgb(18, 22, 20)');
    });
  }

  test('moves between dots with the arrow keys, and gives each dot its name and state', async (t) => {
    const page = await openNamespace(t, await exampleNamespace(t));
    await page.getByRole('link', { name: 'plant-north' }).click();
    const early = page.getByRole('toolbar', { name: 'Wave early: 10 gateways' });
    await early.getByRole('button').first().focus();
    assert.equal(await early.locator('[tabindex="0"]').count(), 1);
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'End']) await page.keyboard.press(key);
    const last = early.getByRole('button').last();
    assert.equal(await last.evaluate((dot) => dot === dot.ownerDocument.activeElement), true);
    await page.keyboard.press('Enter');
    await page.locator('#gateway').getByText('its turn in wave early').waitFor();
    assert.match(
      (await last.getAttribute('aria-label')) ?? '',
      /^plant-north-\d+: old commit, its turn in wave early$/,
    );
  });

  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 800 },
  ])
    test(`shows the details of a dot far down, at a width of ${viewport.width} pixels`, async (t) => {
      const namespace = await createNamespace(t);
      const name = 'plant';
      const message = 'the volume is full';
      const gateways = gatewaysOf({ namespace, name, count: 200 }, { 3: { syncStatus: 'Error', message } });
      await writeResource({ namespace, name }, { status: statusOf(gateways, ['False', 'GatewaysFailed', message]) });
      const page = await openNamespace(t, namespace, { viewport });
      await page.getByRole('link', { name }).click();
      const dot = page.getByRole('button', { name: 'plant-3: failed, the volume is full' });
      await dot.click();
      const panel = page.getByRole('complementary', { name: 'Selected gateway' });
      await panel.getByText(message).waitFor();
      const { y = 0, height = 0 } = (await panel.boundingBox()) ?? {};
      assert.ok(y >= 0 && y + height <= viewport.height, `${y} and ${height}`);
      const isFocused = (element: typeof panel) =>
        element.evaluate((each) => each === each.ownerDocument.activeElement);
      assert.equal(await isFocused(panel), true);
      // The content can change while the page is open.
      gateways[2] = { ...(gateways[2] as (typeof gateways)[number]), message: 'the volume is read-only' };
      await writeResource({ namespace, name }, { status: statusOf(gateways, ['False', 'GatewaysFailed', message]) });
      await panel.getByText('the volume is read-only').waitFor();
      assert.equal(await isFocused(panel), true);
      await page.keyboard.press('Escape');
      assert.equal(await isFocused(page.getByRole('button', { name: 'plant-3: failed' })), true);
      assert.equal(await page.locator('#gateway').isVisible(), false);
    });

  test('shows the commit of the gateways after a rollback, and no problem', async (t) => {
    const namespace = await createNamespace(t);
    const [left, current] = await writeRolledBack({ namespace, name: 'plant' });
    const page = await openNamespace(t, namespace);
    const card = page.locator('.card', { hasText: 'plant' });
    await card.getByText('rolled back', { exact: true }).first().waitFor();
    assert.equal(await card.locator('.where .hash').textContent(), current.slice(0, 8));
    await page.getByRole('link', { name: 'plant' }).click();
    await page.locator('.wave', { hasText: 'canary' }).getByText('1/1').waitFor();
    const facts = (await page.locator('#facts').textContent()) ?? '';
    assert.match(facts, new RegExp(`Commit${current.slice(0, 8)}.*instead of ${left.slice(0, 8)}`));
    assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /needs attention|0\/1|waiting$/);
    await page.locator('#waits').getByText('No gateway is waiting.').waitFor();
    await page.getByRole('toolbar', { name: 'Wave canary' }).getByRole('button', { name: ': rolled back' }).waitFor();
    assert.match(
      (await page.locator('#says').textContent()) ?? '',
      /rolled back to commit 91fd03aa; to retry 3f2a91bc, run kubectl stoker retry plant, or/,
    );
    await page.getByRole('button', { name: 'Roll forward to release 5' }).click();
    await page.getByRole('dialog').getByText('roll forward from').waitFor();
  });

  test('shows releases with their results, and rolls back to one by its name', async (t) => {
    const namespace = await createNamespace(t);
    const name = 'plant';
    await writeRolledBack({ namespace, name });
    const page = await openNamespace(t, namespace);
    await page.getByRole('link', { name }).click();
    const releases = page.locator('#history li');
    await page.locator('#history').getByText('current').waitFor();
    const shown = await releases.evaluateAll((items) =>
      items.map((item) => [item.querySelector('b')?.textContent, item.querySelector('small')?.textContent]),
    );
    assert.deepEqual(shown, [
      ['5', 'Rejected, 9 minutes ago'],
      ['4', 'Complete, 1 hour ago'],
    ]);
    assert.deepEqual(await page.locator('#history').getByRole('button', { name: 'Roll' }).count(), 1);
    await page.getByRole('button', { name: 'Roll forward to release 5' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await untilGatewaySync(
      { namespace, name },
      'the order',
      ({ metadata }) => metadata.annotations?.['sync.io/rollback'] === 'plant-5',
    );
  });

  test('shows which permission the history needs', async (t) => {
    const namespace = await createNamespace(t);
    await writeRolledBack({ namespace, name: 'plant' });
    const page = await openNamespace(t, namespace, { kubeconfig: await viewerOf(namespace) });
    await page.getByRole('link', { name: 'plant' }).click();
    await page.locator('#history').getByText('SyncReleases').waitFor();
    await page.getByRole('alert').getByText('not allowed to list and watch SyncReleases').waitFor();
  });

  test('shortens every commit, and copies the full one', async (t) => {
    const namespace = await createNamespace(t);
    const [left, current] = await writeRolledBack({ namespace, name: 'plant' });
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await openNamespace(t, namespace, { permissions });
    const copied = () => page.evaluate('navigator.clipboard.readText()');
    const shown = () => page.locator('body').textContent();
    await page.locator('.card .says .hash').click();
    await until(copied, { describe: 'the stable commit', accept: (text) => text === current });
    assert.equal(new URL(page.url()).hash, '');
    assert.doesNotMatch((await shown()) ?? '', /[0-9a-f]{40}/);
    await page.getByRole('link', { name: 'plant' }).click();
    await page
      .locator('#history')
      .getByRole('button', { name: `${left.slice(0, 8)}, copy the full hash` })
      .click();
    await until(copied, { describe: 'a commit of the history', accept: (text) => text === left });
    await page.getByText('All gateways as a table').click();
    await page.locator('.waves .dot').first().click();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('dialog').getByText('restarts at the first wave').waitFor();
    assert.doesNotMatch((await shown()) ?? '', /[0-9a-f]{40}/);
  });

  test('shows the range for which the followed tag was chosen', async (t) => {
    const page = await openPlant(t, { target: { ref: 'v1.4.2', range: '~1.4', source: 'Spec' } });
    await page.locator('#facts').getByText('the newest tag in ~1.4').waitFor();
    assert.doesNotMatch((await page.locator('#facts').textContent()) ?? '', /spec\.git\.ref/);
  });

  test('keeps the focus on a button that changes, and closes a dialog on Escape', async (t) => {
    const page = await openPlant(t);
    const focused = () => page.evaluate('document.activeElement.textContent');
    await page.getByRole('button', { name: 'Pause' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('keep their files').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await focused(), 'Pause');
    await page.keyboard.press('Enter');
    await page.getByText('keep their files').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await until(focused, {
      describe: 'the focus on a verb',
      accept: (text) => ['Sync now', 'Resume'].includes(`${text}`),
    });
    await page.locator('#says', { hasText: 'paused: nothing changes' }).waitFor();
  });

  test('keeps a dialog open that was opened while another command was running', async (t) => {
    const page = await openPlant(t);
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/order', async (route) => {
      await isReleased;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('#dialog-yes').click();
    await page.getByText('Applying …').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sync now' }).click();
    const question = page.getByRole('dialog', { name: 'Sync plant' });
    await question.waitFor();
    release();
    await page.getByText('Pause plant: done.').waitFor({ state: 'attached' });
    assert.equal(await question.isVisible(), true);
  });

  for (const width of [360, 1_600]) {
    test(`fits into ${width} pixels`, async (t) => {
      const page = await openNamespace(t, await exampleNamespace(t), { viewport: { width, height: 800 } });
      const room = () => page.evaluate('[document.documentElement.scrollWidth, innerWidth]') as Promise<number[]>;
      await page.getByRole('link', { name: 'tills' }).waitFor();
      assert.deepEqual(await room(), [width, width]);
      await page.getByRole('link', { name: 'plant-north' }).click();
      await page.getByText('the receiver accepted').waitFor();
      assert.deepEqual(await room(), [width, width]);
    });
  }

  test('shows that its server has stopped', async (t) => {
    const namespace = await createNamespace(t);
    const ui = await startUi(t, (await connectCluster()).kubeconfig, '-n', namespace);
    const page = await openPage(t, ui.address);
    await page.getByText('No GatewaySync found.').waitFor();
    await ui.program.stop();
    await page.getByRole('alert').getByText('kubectl stoker ui does not respond: start it again').waitFor();
  });
});
