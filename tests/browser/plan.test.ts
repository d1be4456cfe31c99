import assert from 'node:assert/strict';
import { after, suite, type TestContext, test } from 'node:test';
import { syncReleasePath } from '../../shared/io/kubernetes/resource-path.ts';
import { callApi, connectCluster, createNamespace } from '../support/cluster.ts';
import { patchStatus } from '../support/gateway-syncs.ts';
import { permit } from '../support/permit.ts';
import { digestFor } from '../support/planned-fleet.ts';
import { startUi } from '../support/start-ui.ts';
import { faultsOf } from './accessibility.ts';
import { closeBrowser, openPage, skipWithoutChromium } from './browser.ts';
import { writePlannedRelease } from './planned-release.ts';

const name = 'plant';

async function arrange(
  t: TestContext,
  ...previews: Parameters<typeof writePlannedRelease> extends [unknown, ...infer R] ? R : never
) {
  const namespace = await createNamespace(t);
  await writePlannedRelease({ namespace, name }, ...previews);
  const { address } = await startUi(t, (await connectCluster()).kubeconfig, '-n', namespace);
  return { namespace, address };
}

suite('the plan of a commit on the page', { skip: skipWithoutChromium }, () => {
  after(closeBrowser);

  test('is shown before the approval, whose dialog names the groups, at every width and in every theme', async (t) => {
    const { namespace, address } = await arrange(t);
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1_280, 390]) {
        const viewport = { width, height: width > 500 ? 900 : 844 };
        const page = await openPage(t, address, { colorScheme, viewport, reducedMotion: 'reduce' });
        await page.getByRole('link', { name }).click();
        const plan = page.locator('#plan');
        await plan
          .getByText('main (3f2a91bc) cannot be delivered to 1 of 24 gateways and would change 9 (221 files in total)')
          .waitFor();
        const rows = await plan.locator('tbody tr').allInnerTexts();
        const cells = rows.map((row) => row.split(/\s+/).filter(Boolean));
        assert.deepEqual(
          cells.map(([wave, gateways]) => [wave, gateways]),
          [
            ['canary', '2'],
            ['main', '18'],
            ['rest', '4'],
          ],
        );
        await plan.getByText('{{ .Labels.site }} has no value').waitFor();
        const groups = plan.locator('details.group');
        assert.equal(await groups.count(), 2);
        assert.match((await groups.first().locator('summary').textContent()) ?? '', /^7 gateways .*31 files$/);
        await groups.first().getByText('config/lines/line-6.json').waitFor();
        await groups.nth(1).locator('summary').click();
        await groups.nth(1).getByText('config/old.json').waitFor();
        const room = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
        assert.deepEqual(room, [width, width]);
        assert.deepEqual(await faultsOf(page), []);

        await page.getByRole('button', { name: 'Approve' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('According to the previews, it cannot be delivered to 1 of 24 gateways').waitFor();
        await dialog.getByText(/^7 gateways \(/).waitFor();
        await dialog.getByText(/^2 gateways \(.*with 2 different contents/).waitFor();
        assert.deepEqual(await faultsOf(page), []);
        await dialog.getByRole('button', { name: 'Approve' }).scrollIntoViewIfNeeded();
        await dialog.getByRole('button', { name: 'Cancel' }).click();
        await page.context().close();
      }
    const { items } = await callApi<{ items: object[] }>({ path: syncReleasePath(namespace) });
    assert.deepEqual(items, [], 'looking changes nothing');
  });

  test('can be approved by a user who may not change anything else', async (t) => {
    const { namespace } = await arrange(t);
    await permit(namespace, { can: 'view', users: ['victor'] });
    await permit(namespace, { can: 'approve', users: ['alice'] });
    const { kubeconfig } = await connectCluster();
    for (const [user, access, denied] of [
      ['victor', 'You have read-only access', ['Approve', 'Pause']],
      ['alice', 'You can only read and approve', ['Pause']],
    ] as const) {
      const { address } = await startUi(t, kubeconfig, '-n', namespace, '--as', user);
      const page = await openPage(t, address);
      await page.getByRole('link', { name }).click();
      await page.locator('#rights', { hasText: access }).waitFor();
      for (const label of ['Approve', 'Pause']) {
        const button = page.locator('#verbs').getByRole('button', { name: label });
        assert.equal(await button.getAttribute('aria-disabled'), denied.some((each) => each === label) ? 'true' : null);
      }
      const asksForRole = await page.locator('#rights').getByText('…-approvers').count();
      assert.equal(asksForRole, user === 'victor' ? 1 : 0);
      await page.context().close();
    }
  });

  test('shows hostile paths as text, and disappears when no commit is previewed', async (t) => {
    const evil = '<img src=x onerror="globalThis.hacked=1">';
    const { namespace, address } = await arrange(t, {
      1: { digest: digestFor('x'), modified: 1, paths: [`modify ${evil}`] },
    });
    const page = await openPage(t, address);
    await page.getByRole('link', { name }).click();
    await page.locator('#plan code', { hasText: evil }).waitFor();
    assert.equal(await page.evaluate('globalThis.hacked'), undefined);
    await patchStatus({ namespace, name }, { rollout: { preview: null } });
    await page.locator('#plan-section').waitFor({ state: 'hidden' });
  });

  test('keeps the focus and the open group when an update changes the order of the groups', async (t) => {
    const group = (number: number) => ({
      digest: digestFor(`${number}`),
      modified: 1,
      paths: [`modify ${number}.json`],
    });
    const { namespace, address } = await arrange(t, { 1: group(1), 2: group(1), 3: group(2) });
    const page = await openPage(t, address);
    await page.getByRole('link', { name }).click();
    const plan = page.locator('#plan');
    const first = plan.locator('details.group', { hasText: '1.json' });
    const second = plan.locator('details.group', { hasText: '2.json' });
    await first.locator('summary').click();
    await second.locator('summary').click();
    await plan.getByRole('region', { name: 'Gateways by wave' }).focus();
    await writePlannedRelease({ namespace, name }, { 1: group(1), 2: group(1), 3: group(2), 4: group(2), 5: group(2) });
    await plan.getByText(/^3 gateways/).waitFor();
    assert.match((await plan.locator('details.group').first().textContent()) ?? '', /2\.json/);
    assert.deepEqual(
      [await first.getAttribute('open'), await second.getAttribute('open')],
      [null, ''],
      'the group that the user closed, and the one that the user opened',
    );
    assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Gateways by wave');
  });
});
