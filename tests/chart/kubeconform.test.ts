import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { readManifests } from '../support/markdown.ts';
import { writeObjectSchemas } from './support/object-schemas.ts';
import { chart, helm, listValuesFiles } from './support/render.ts';

/** Kinds of operators that the test's API server does not know. */
const foreign = ['Certificate', 'HTTPRoute', 'Issuer', 'PodMonitor', 'PrometheusRule', 'ServiceMonitor'];

let directory: TemporaryDirectory;

before(async () => {
  directory = await makeTemporaryDirectory('kubeconform-');
  await writeObjectSchemas(path.join(directory.path, 'schemas'));
});

after(() => directory?.remove());

/** Checks manifests, by their name, and gives what kubeconform says. */
async function conform(manifests: Record<string, string>): Promise<string> {
  const { kubeconform } = await findBinaries('kubeconform');
  const place = path.join(directory.path, 'manifests');
  await mkdir(place, { recursive: true });
  const files = Object.keys(manifests).map((name) => path.join(place, name));
  await Promise.all(Object.values(manifests).map((text, index) => writeFile(files[index]!, text)));
  const schemas = path.join(directory.path, 'schemas', '{{.ResourceKind}}{{.KindSuffix}}.json');
  const flags = ['-strict', '-summary', '-schema-location', schemas, '-skip', foreign.join(',')];
  const run = promisify(execFile)(kubeconform, [...flags, ...files]);
  return await run.then(({ stdout }) => stdout).catch((error: { stdout: string }) => error.stdout);
}

test('kubeconform accepts all objects of the chart', async () => {
  const rendered = (await listValuesFiles()).map(async (file) => [
    path.basename(file),
    await helm('template', 'test', chart, '--namespace', 'operator', '--values', file),
  ]);
  const said = await conform(Object.fromEntries(await Promise.all(rendered)));
  assert.match(said, /Valid: [1-9]\d+, Invalid: 0, Errors: 0/);
});

test('kubeconform accepts the manifests of all recipes', async () => {
  const manifests = (await readManifests()).map(({ file, text }) => [file.replaceAll('/', '-'), text]);
  assert.match(await conform(Object.fromEntries(manifests)), /Valid: [1-9]\d+, Invalid: 0, Errors: 0/);
});

test('kubeconform rejects an unknown field', async () => {
  const manifest = await helm('template', 'test', chart, '--show-only', 'templates/controller/deployment.yaml');
  const said = await conform({ 'unknown.yaml': manifest.replace('enableServiceLinks', 'enableServiceLink') });
  assert.match(said, /additional properties 'enableServiceLink' not allowed/);
});
