import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { after, suite, test } from 'node:test';
import { callApi, connectCluster } from '../support/cluster.ts';
import { startUi } from '../support/start-ui.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';
import { writeExampleFleet } from './example-fleet.ts';

/** UI_PICTURES=docs/images makes the pictures of the docs; any other folder is for looking at them. */
const folder = process.env.UI_PICTURES;
const skip = skipWithoutChromium || (!folder && 'UI_PICTURES names no folder');

suite('the page in pictures', { skip }, () => {
  after(closeBrowser);

  test('is drawn', async (t) => {
    const namespace = 'plants';
    await callApi({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
    await writeExampleFleet(namespace);
    const { kubeconfig } = await connectCluster();
    const { address } = await startUi(t, kubeconfig, '-n', namespace);
    const target = path.resolve(import.meta.dirname, '../..', folder ?? '');
    await mkdir(target, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [name, width] of [
        ['', 1280],
        ['-360', 360],
        ['-1600', 1600],
      ] as const) {
        const page = await openPage(t, address, {
          colorScheme,
          viewport: { width, height: 900 },
          reducedMotion: 'reduce',
        });
        await page.getByRole('heading', { name: 'tills' }).waitFor();
        await page.screenshot({ path: path.join(target, `ui-fleet-${colorScheme}${name}.png`), fullPage: width < 500 });
        await page.getByRole('link', { name: 'plant-north' }).click();
        await page.getByText('the receiver took').first().waitFor();
        await page.screenshot({ path: path.join(target, `ui-resource-${colorScheme}${name}.png`), fullPage: true });
      }
    }
  });
});
