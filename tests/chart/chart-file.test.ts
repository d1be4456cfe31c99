import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import semver from 'semver';
import { parse } from 'yaml';
import { pageFor, pathOfPage } from '../../scripts/site/addresses.ts';
import { docsAt, docsOf, SITE } from '../../shared/docs-site.ts';
import { connectCluster } from '../support/cluster.ts';
import { readPages } from '../support/markdown.ts';
import { chart, render } from './support/render.ts';

const checkout = path.join(chart, '..');
const file = parse(await readFile(path.join(chart, 'Chart.yaml'), 'utf8'));
const annotation = (name: string) => parse(file.annotations[`artifacthub.io/${name}`]);
const onGithub = 'https://raw.githubusercontent.com/stoker-operator/stoker-operator/main/';
const onSite = docsAt(file.appVersion, '');
const pages = (await readPages()).map((page) => pageFor(page.file)).filter((page) => page !== undefined);
const addresses = pages.map((page) => docsAt(file.appVersion, pathOfPage(page).slice(1)));

/** Fails if an address names a file of the project that doesn't exist, or a page of another version. */
async function checkAddress(url: string): Promise<void> {
  const [place = ''] = url.split('#');
  if (place.startsWith(onGithub)) await access(path.join(checkout, place.slice(onGithub.length)));
  if (place.startsWith(SITE)) assert.ok(addresses.includes(place), `${url}: the site of ${onSite} has no such page`);
}

test("Chart.yaml names the chart's maintainers and sources", async () => {
  for (const key of ['description', 'home', 'icon', 'sources', 'maintainers', 'keywords']) {
    assert.ok(file[key]?.length > 0, key);
  }
  await checkAddress(file.icon);
  for (const { url } of annotation('links')) await checkAddress(url);
});

test('Chart.yaml lists the images of this version for Artifact Hub', async () => {
  const images: { name: string; image: string; platforms: string[] }[] = annotation('images');
  const workflow = await readFile(path.join(checkout, '.github/workflows/images.yaml'), 'utf8');
  const text = JSON.stringify(await render({ webhookReceiver: { enabled: true } }));
  assert.deepEqual(
    images.map(({ name }) => name),
    ['controller', 'receiver', 'agent'],
  );
  for (const { image, platforms } of images) {
    assert.ok(workflow.includes(`platforms: ${platforms.join(',')}\n`), `${platforms}`);
    assert.ok(image.endsWith(`:${file.appVersion}`), image);
    assert.ok(text.includes(`"${image}"`), image);
  }
});

test('Chart.yaml describes this version for Artifact Hub', async () => {
  assert.equal(file.annotations['artifacthub.io/prerelease'], `${semver.prerelease(file.version) !== null}`);
  const [change, ...others] = annotation('changes');
  assert.deepEqual(others, []);
  assert.ok(change.description.includes(` ${file.version},`), change.description);
  assert.deepEqual(change.links, [{ name: 'Changelog', url: `${docsOf(file.version)}/changelog` }]);
  const screenshots: { url: string }[] = annotation('screenshots');
  for (const { url } of screenshots) {
    assert.ok(url.startsWith(onGithub), url);
    await checkAddress(url);
  }
  // The signatures of cosign have no key. A key would belong to a provenance file, which the chart doesn't have.
  assert.equal(file.annotations['artifacthub.io/signKey'], undefined);
});

test('Chart.yaml lists the CRDs for Artifact Hub, with an example of each that users write', async () => {
  const rendered = (await render()).filter(({ kind }) => kind === 'CustomResourceDefinition');
  const reported: { kind: string; version: string; name: string }[] = annotation('crds');
  assert.deepEqual(
    reported.map(({ kind, version, name }) => ({ kind, version, name })),
    rendered.map(({ metadata, spec }) => ({
      kind: spec.names.kind,
      version: spec.versions[0].name,
      name: metadata.name,
    })),
  );
  const [example, ...others] = annotation('crdsExamples');
  assert.deepEqual([example.kind, others], ['GatewaySync', []]);
  example.metadata.namespace = 'default';
  const { kubectlWith } = await connectCluster();
  await kubectlWith(example, 'create', '--dry-run=server', '--validate=strict', '--filename=-');
});

test("the chart's README has only links that also work in a registry", async () => {
  const readme = await readFile(path.join(chart, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  assert.ok(links.length > 4);
  for (const link of links) {
    assert.match(link, /^https:\/\//);
    await checkAddress(link);
  }
});
