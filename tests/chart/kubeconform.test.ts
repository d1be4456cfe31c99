import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { writeJsonSchemas } from '../../scripts/site/json-schemas.ts';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { docsOf } from '../../shared/docs-site.ts';
import { connectCluster } from '../support/cluster.ts';
import { slow } from '../support/depth.ts';
import { blocksOf, commandsOf, readManifests, readPages } from '../support/markdown.ts';

const docs = docsOf(manifest.version);

let directory: TemporaryDirectory;

before(async () => {
  directory = await makeTemporaryDirectory('kubeconform-');
  await writeJsonSchemas(path.join(directory.path, 'site/schemas/sync.io'));
});

after(() => directory?.remove());

/** Checks manifests by their name against the schemas at a location, and returns the output of kubeconform. */
async function conform(manifests: Record<string, string>, location: string) {
  const { kubeconform } = await findBinaries('kubeconform');
  const place = path.join(directory.path, 'manifests');
  await mkdir(place, { recursive: true });
  const files = Object.keys(manifests).map((name) => path.join(place, name));
  await Promise.all(Object.values(manifests).map((text, index) => writeFile(files[index]!, text)));
  const schemas = path.join(directory.path, location);
  const flags = ['-strict', '-summary', '-schema-location', schemas];
  const run = promisify(execFile)(kubeconform, [...flags, ...files]);
  return await run.then(({ stdout }) => stdout).catch((error: { stdout: string }) => error.stdout);
}

/** Reads the documents with a resource of ours in the docs and the examples, by their place. */
async function readExamples(): Promise<Record<string, string>> {
  const blocks = (await readPages()).flatMap((page) =>
    blocksOf(page).map(({ language, code }) => ({
      file: page.file,
      text: language === 'yaml' ? code : inputsOf(code),
    })),
  );
  const documents = [...blocks, ...(await readManifests())].flatMap(({ file, text }) =>
    text.split(/^---\n/m).map((document) => ({ file, document })),
  );
  const own = documents.filter(({ document }) => /^apiVersion: sync\.io\//m.test(document));
  return Object.fromEntries(
    own.map(({ file, document }, index) => [`${index}-${file.replaceAll('/', '-')}.yaml`, document]),
  );
}

/** The documents that the commands of a block read from the shell. */
const inputsOf = (code: string): string =>
  [...code.matchAll(/^\$ .*<<'EOF'\n(.*?)^EOF$/gms)].map(([, text]) => text).join('---\n');

/** The address of the schemas as the docs write it, in the directory of this test. */
async function documentedLocation(): Promise<string> {
  const page = (await readPages()).find(({ file }) => file === 'docs/how-to/validate-manifests.md');
  const [command = ''] = page ? commandsOf(page) : [];
  const [, location = ''] = /-schema-location '([^']+)'/.exec(command) ?? [];
  assert.ok(location.startsWith(`${docs}/`), location);
  return location.replace(docs, 'site');
}

test('kubeconform accepts the examples in the docs with the published schemas, and rejects mistakes', async () => {
  const examples = await readExamples();
  assert.ok(Object.keys(examples).length > 10);
  const location = await documentedLocation();
  const said = await conform(examples, location);
  assert.match(said, /Valid: [1-9]\d+, Invalid: 0, Errors: 0, Skipped: 0/);
  const [example = ''] = Object.values(examples).filter((text) => / {4}ref: main$/m.test(text));
  const mistakes = {
    'unknown.yaml': ['ref: main', 'branch: main'],
    'metadata.yaml': ['metadata:\n', 'metadata:\n  anotations: {}\n'],
    'kind.yaml': ['v1alpha1\n', 'v1alpha2\n'],
  };
  for (const [name, [from = '', to = '']] of Object.entries(mistakes)) {
    const output = await conform({ [name]: example.replace(from, to) }, location);
    assert.match(output, /additional properties '(branch|anotations)' not allowed|could not find schema/, name);
  }
});

/** A GatewaySync without optional fields, and its file for kubeconform. */
const minimal = {
  apiVersion: 'sync.io/v1alpha1',
  kind: 'GatewaySync',
  metadata: { name: 'with-null', namespace: 'default' },
  spec: {
    git: { repo: 'https://example.com/plant.git', ref: 'main' },
    sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } },
  },
};

test('null is valid where the API server sets a default instead, and only there', slow, async () => {
  const { kubectlWith } = await connectCluster();
  const location = await documentedLocation();
  const cases: [object, boolean][] = [
    [{ polling: null, gateway: null, paused: null }, true],
    [{ sync: { ...minimal.spec.sync, defaults: { drift: null } } }, true],
    [{ rollout: null }, false],
    [{ webhook: { allowedRefs: [null] } }, false],
  ];
  for (const [fields, isValid] of cases) {
    const manifest = JSON.stringify({ ...minimal, spec: { ...minimal.spec, ...fields } });
    const applied = kubectlWith(manifest, 'apply', '--server-side', '--dry-run=server', '--filename=-');
    const isApplied = await applied.then(
      () => true,
      ({ message }) => !/ is invalid: /.test(message),
    );
    const output = await conform({ 'null.json': manifest }, location);
    assert.deepEqual([isApplied, / Invalid: 0, /.test(output)], [isValid, isValid], `${manifest}\n${output}`);
  }
});
