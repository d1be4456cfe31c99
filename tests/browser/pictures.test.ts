import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { after, suite, test } from 'node:test';
import { callApi, connectCluster } from '../support/cluster.ts';
import { startUi } from '../support/start-ui.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';
import { writeExampleFleet } from './example-fleet.ts';

/** UI_PICTURES=docs/images makes the pictures of the docs; any other directory gets them for review. */
const directory = process.env.UI_PICTURES;
const skip = skipWithoutChromium || (!directory && 'UI_PICTURES names no directory');

const PICTURES = [
  { name: 'ui-fleet', colorScheme: 'light', view: 'fleet', width: 1_200, height: 690 },
  { name: 'ui-rollout', colorScheme: 'light', view: 'plant-north', width: 1_200, height: 1_600 },
] as const;

/** Pictures that aren't in the docs: the dark theme, and the smallest and largest supported widths. */
const OTHERS = [
  { name: 'ui-rollout-dark', colorScheme: 'dark', view: 'plant-north', width: 1_200, height: 1_600 },
  { name: 'ui-fleet-dark', colorScheme: 'dark', view: 'fleet', width: 1_200, height: 690 },
  { name: 'ui-fleet-360', colorScheme: 'light', view: 'fleet', width: 360, height: 1_600 },
  { name: 'ui-rollout-360', colorScheme: 'dark', view: 'plant-north', width: 360, height: 2_600 },
  { name: 'ui-rollout-1600', colorScheme: 'light', view: 'plant-north', width: 1_600, height: 1_000 },
  { name: 'ui-question', colorScheme: 'light', view: 'question', width: 1_200, height: 700 },
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
    const isForDocs = target.endsWith('docs/images');
    for (const { name, colorScheme, view, width, height } of isForDocs ? PICTURES : [...PICTURES, ...OTHERS]) {
      const page = await openPage(t, address, { colorScheme, viewport: { width, height }, reducedMotion: 'reduce' });
      await page.getByRole('link', { name: 'tills' }).waitFor();
      if (view !== 'fleet') {
        await page.getByRole('link', { name: 'plant-north' }).click();
        await page.getByText('the receiver accepted').first().waitFor();
      }
      if (view === 'question') {
        await page.getByRole('button', { name: 'Roll back', exact: true }).click();
        await page.getByText('all at once').waitFor();
      }
      await page.screenshot({ path: path.join(target, `${name}.png`) });
    }
  });
});
