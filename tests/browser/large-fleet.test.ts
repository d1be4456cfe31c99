import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, suite, type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace, mergePatch } from '../support/cluster.ts';
import { startUi } from '../support/start-ui.ts';
import { until } from '../support/until.ts';
import { faultsOf } from './accessibility.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';
import { writeLargeFleet } from './large-fleet.ts';

/** Maximum CPU time of the page and its server until all gateways are drawn (ms). */
const MAX_BUSY_MS = 2_000;
const name = 'plant';

const hasFocus = (element: Locator) => element.evaluate((each) => each === each.ownerDocument.activeElement);

/** Opens the GatewaySync from the fleet, and waits until each gateway has a dot. Returns the time that it took (ms). */
async function openResource(page: Page, count: number): Promise<number> {
  const started = performance.now();
  await page.getByRole('link', { name }).click();
  const dots = page.locator('.waves .dot');
  // Rarely, because each count takes CPU time of the page, which is measured.
  await until(() => dots.count(), { describe: `${count} dots`, interval: 200, accept: (found) => found === count });
  return Math.round(performance.now() - started);
}

/** Starts to measure the CPU time of a page and its server, which doesn't depend on other programs. */
async function measure(page: Page, pid: number): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const pageSeconds = metrics.find((metric) => metric.name === 'ProcessTime')?.value ?? Number.NaN;
    // proc_pid_stat(5): user and system time in ticks of 10 ms, after a name in parentheses.
    const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ');
    const [user, system] = fields.split(' ').slice(11, 13);
    return pageSeconds * 1_000 + (Number(user) + Number(system)) * 10;
  };
  const before = await read();
  return async () => Math.round((await read()) - before);
}

/** Selects a dot, and checks the panel and the focus. */
async function checkPanel(page: Page, dot: Locator): Promise<void> {
  await dot.click();
  const panel = page.getByRole('complementary', { name: 'Selected gateway' });
  const label = (await dot.getAttribute('aria-label')) ?? '';
  await panel.getByRole('heading', { name: label.split(':')[0] ?? '' }).waitFor();
  assert.equal(await hasFocus(panel), true);
  const { x = -1, y = -1, width = 0, height = 0 } = (await panel.boundingBox()) ?? {};
  const viewport = page.viewportSize() ?? { width: 0, height: 0 };
  assert.ok(x >= 0 && y >= 0 && x + width <= viewport.width && y + height <= viewport.height);
  await page.keyboard.press('Escape');
  assert.equal(await hasFocus(dot), true);
  assert.equal(await panel.isVisible(), false);
  await dot.click();
  await panel.getByRole('button', { name: 'Close the details' }).click();
  assert.equal(await hasFocus(dot), true);
}

async function arrange(t: TestContext, count: number) {
  const namespace = await createNamespace(t);
  const { failed } = await writeLargeFleet({ namespace, name, count });
  const { address, program } = await startUi(t, (await connectCluster()).kubeconfig, '-n', namespace);
  return { namespace, failed, address, program };
}

suite('the page of a fleet', { skip: skipWithoutChromium }, () => {
  after(closeBrowser);

  for (const count of [5, 500, 5_000])
    test(`of ${count} gateways shows all of them, and each one's details, at every width and in every theme`, async (t) => {
      const { address, failed, program } = await arrange(t, count);
      for (const colorScheme of ['light', 'dark'] as const)
        for (const width of [1_280, 390]) {
          const viewport = { width, height: width > 500 ? 900 : 844 };
          const page = await openPage(t, address, { colorScheme, viewport, reducedMotion: 'reduce' });
          const card = page.locator('.card');
          const label = `${count.toLocaleString('en')} gateways: ${failed.length > 0 ? `${failed.length} failed · ` : ''}`;
          await card.getByRole('img', { name: label }).waitFor();
          const used = await measure(page, program.pid);
          const took = await openResource(page, count);
          const busyMs = await used();
          t.diagnostic(`${count} gateways, ${width} px, ${colorScheme}: ${took} ms, CPU ${busyMs} ms`);
          assert.ok(busyMs < MAX_BUSY_MS, `${busyMs} ms`);
          await page.getByText(`Source: the reports of all ${count.toLocaleString('en')} gateways.`).waitFor();
          const room = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
          assert.deepEqual(room, [width, width]);
          const look = failed.length > 0 ? 'failed' : 'old';
          const dot = page.locator(`.waves .dot[data-look=${look}]`).last();
          await checkPanel(page, dot);
          await dot.click();
          if (count === 500) assert.deepEqual(await faultsOf(page), []);
          await page.context().close();
        }
    });

  test('of 500 gateways changes only what has changed, and finds a gateway in the table', async (t) => {
    const { namespace, address } = await arrange(t, 500);
    const page = await openPage(t, address);
    await openResource(page, 500);
    await page.evaluate(`{
      globalThis.changes = [];
      new MutationObserver((records) => changes.push(...records.map(({ target }) => target.dataset.key)))
        .observe(document.querySelector('#waves'), { subtree: true, attributeFilter: ['data-look'] });
    }`);
    const dot = page.locator('.waves .dot[data-look=new]').last();
    const pod = (await dot.getAttribute('data-key')) ?? '';
    const body = { status: { state: 'Error', message: 'the volume is full', hasFailed: true } };
    await mergePatch(syncReportPath(namespace, pod), body);
    await page.locator(`.waves .dot[data-key="${pod}"][data-look=failed]`).waitFor();
    assert.deepEqual(await page.evaluate('changes'), [pod]);

    await page.getByText('All gateways as a table').click();
    const rows = page.locator('tbody tr');
    await until(() => rows.count(), { describe: 'the first rows', accept: (found) => found === 100 });
    await page.getByRole('button', { name: 'Show more' }).click();
    await until(() => rows.count(), { describe: 'more rows', accept: (found) => found === 200 });
    await page.getByPlaceholder('Search gateways').fill('plant-499');
    await until(() => rows.count(), { describe: 'one row', accept: (found) => found === 1 });
    await rows.getByRole('button', { name: 'plant-499', exact: true }).click();
    await page.locator('#gateway').getByText('wave main, which follows early').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await hasFocus(rows.getByRole('button', { name: 'plant-499', exact: true })), true);
  });
});
