import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { after, suite, test } from 'node:test';
import { callApi, connectCluster } from '../support/cluster.ts';
import { startUi } from '../support/start-ui.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';
import { writeExampleFleet } from './example-fleet.ts';

/** UI_PICTURES=docs/images makes the pictures of the docs. */
const directory = process.env.UI_PICTURES;
const skip = skipWithoutChromium || (!directory && 'UI_PICTURES names no directory');

const PICTURES = [
  { name: 'ui-fleet', colorScheme: 'light', view: 'fleet', width: 1_200, height: 690 },
  { name: 'ui-rollout', colorScheme: 'light', view: 'plant-north', width: 1_200, height: 1_600 },
] as const;

suite('the pictures of kubectl stoker ui', { skip }, () => {
  after(closeBrowser);

  test('are drawn', async (t) => {
    const namespace = 'plants';
    await callApi({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
    await writeExampleFleet(namespace);
    const { kubeconfig } = await connectCluster();
    const { address } = await startUi(t, kubeconfig, '-n', namespace);
    const target = path.resolve(import.meta.dirname, '../..', directory ?? '');
    await mkdir(target, { recursive: true });
    for (const { name, colorScheme, view, width, height } of PICTURES) {
      const page = await openPage(t, address, { colorScheme, viewport: { width, height }, reducedMotion: 'reduce' });
      await page.getByRole('link', { name: 'tills' }).waitFor();
      if (view !== 'fleet') {
        await page.getByRole('link', { name: 'plant-north' }).click();
        await page.getByText('the receiver accepted').first().waitFor();
      }
      await page.screenshot({ path: path.join(target, `${name}.png`) });
    }
  });
});
