import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { apply } from '../support/cluster.ts';
import { blocksOf, commandsOf, type Page, proseOf, readManifests, readPages, wordsOf } from '../support/markdown.ts';
import { chart, helm, render } from './support/render.ts';

const pages = (await readPages()).filter(
  ({ file }) => !['CHANGELOG.md', 'docs/reference/api-reference.md'].includes(file),
);
/** Manifests of recipes, as pages with one block. */
const manifests = (await readManifests()).map(({ file, text }) => ({ file, text: `\`\`\`yaml\n${text}\`\`\`\n` }));

/** Options of helm that take a value, and whether rendering needs them. */
const OPTIONS: Record<string, 'needed' | 'left out'> = {
  '--namespace': 'needed',
  '--set': 'needed',
  '--version': 'left out',
  '--values': 'left out',
};
const FLAGS = [
  '--create-namespace',
  '--install',
  '--wait',
  '--reset-then-reuse-values',
  '--take-ownership',
  '--force-conflicts',
];
const CHARTS = ['oci://ghcr.io/stoker-operator/charts/stoker-operator', './chart'];

/** Turns `helm install|upgrade|template …` into the arguments that render the checkout's chart the same way. */
function templateArguments(command: string): string[] {
  const names: string[] = [];
  const kept: string[] = [];
  const words = wordsOf(command).slice(2);
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const use = OPTIONS[word];
    if (use) {
      const value = words.shift();
      assert.ok(value, `${command}: ${word} has no value`);
      if (use === 'needed') kept!.push(word, value);
    } else if (!FLAGS.includes(word)) names!.push(word);
  }
  const [release, reference, ...rest] = names!;
  assert.deepEqual(rest, [], command);
  assert.ok(release && CHARTS.includes(reference ?? ''), `${command}: which chart?`);
  return ['template', release, chart, ...kept!];
}

const runs = new Map<string, Promise<string>>();

/** Many pages have the same commands. */
function runOnce(args: string[]): Promise<string> {
  const key = args.join(' ');
  const run = runs.get(key) ?? helm(...args);
  runs.set(key, run);
  return run;
}

test('every upgrade command in the docs has a version, because Helm otherwise takes the newest chart', () => {
  for (const page of pages) {
    const upgrades = commandsOf(page).filter((line) => /^helm upgrade .*oci:/.test(line));
    for (const command of upgrades) assert.match(command, / --version \d/, `${page.file}: ${command}`);
  }
});

interface Document {
  apiVersion?: string;
  kind?: string;
  metadata?: { name?: string; namespace?: string };
  // biome-ignore lint/suspicious/noExplicitAny: of any kind
  spec?: any;
}

/** Returns the objects in the YAML of a page, and the values files, which are marked in their first line. */
function documentsOf(page: Page): { objects: Document[]; values: object[] } {
  const objects: Document[] = [];
  const values: object[] = [];
  for (const { language, code } of blocksOf(page)) {
    if (language !== 'yaml') continue;
    for (const document of parseAllDocuments(code, { uniqueKeys: true })) {
      assert.deepEqual(document.errors, [], page.file);
      const content = document.toJS();
      if (code.startsWith('# values.yaml')) values.push(content);
      else if (content?.kind && content.apiVersion) objects.push(content);
    }
  }
  for (const { kind, spec } of objects) {
    if (kind === 'HelmRelease') values.push(spec.values);
    if (kind === 'Application' && spec.source.chart) values.push(spec.source.helm.valuesObject);
  }
  return { objects, values };
}

/** Documents of other projects, or files that kube-apiserver reads. */
const isForeign = ({ apiVersion = '', kind }: Document) =>
  /argoproj\.io|fluxcd\.io|prometheus|trust\.cert-manager\.io|apiserver\.config\.k8s\.io|istio\.io|kustomize\.config\.k8s\.io/.test(
    apiVersion,
  ) || kind === 'Config';

suite('a page of the docs', { concurrency: true }, () => {
  for (const page of [...pages, ...manifests]) {
    const commands = commandsOf(page).filter((line) => /^helm (install|upgrade|template) /.test(line));
    const { objects, values } = documentsOf(page);
    const own = objects.filter((object) => !isForeign(object));
    if (commands.length + values.length + own.length === 0) continue;

    test(`has Helm commands and values that render, and objects that the API server accepts: ${page.file}`, async () => {
      await Promise.all([
        ...values.map((given) => render(given)),
        ...commands.map((command) => runOnce(templateArguments(command))),
        apply(
          own.map((object) => ({ ...object, metadata: { ...object.metadata, namespace: 'default' } })),
          '--dry-run',
        ),
      ]);
    });
  }
});

interface NetworkPolicySpec {
  podSelector: { matchLabels: Record<string, string> };
  ingress: { ports: { port: number }[] }[];
}

/** Port of the metrics of an agent. */
const METRICS_PORT = 8083;

suite('the NetworkPolicy of a recipe', () => {
  for (const page of manifests) {
    const { objects } = documentsOf(page);
    const specOf = (kind: string) => objects.find((object) => object.kind === kind)?.spec;
    const policy: NetworkPolicySpec | undefined = specOf('NetworkPolicy');
    if (!policy) continue;

    test(`allows connections to the ports of the Service, and to the metrics of the agent: ${page.file}`, () => {
      const { selector, ports } = specOf('Service');
      assert.deepEqual(policy.podSelector.matchLabels, selector);
      const allowed = policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port));
      const served = ports.map(({ port, targetPort = port }: { port: number; targetPort?: number }) => targetPort);
      assert.deepEqual(allowed, [...served, METRICS_PORT]);
    });
  }
});

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
}

/** Checks whether a dotted path is a value, or is inside one whose content Kubernetes defines. */
function isValue(root: Schema, node: Schema | undefined, [key, ...rest]: string[]): boolean {
  const { properties } = node?.$ref ? (root.$defs?.[node.$ref.split('/').at(-1) ?? ''] ?? {}) : (node ?? {});
  if (key === undefined || !properties) return true;
  return key in properties && isValue(root, properties[key], rest);
}

test('every value that the docs mention is a value of the chart', async () => {
  const schema: Schema = JSON.parse(await readFile(path.join(chart, 'values.schema.json'), 'utf8'));
  for (const page of pages) {
    for (const [, name = ''] of proseOf(page).matchAll(/`([a-z]\w*(?:\.\w+)+)(?:=[^`]*)?`/gi)) {
      const keys = name.split('.');
      if (keys[0]! in schema.properties!) assert.ok(isValue(schema, schema, keys), `${page.file}: ${name}`);
    }
  }
});

test('every Deployment, Service, and ClusterRole that the docs mention is in the chart, installed as in the docs, or in a recipe', async () => {
  // As a release of that name calls them.
  const objects = await render({ fullnameOverride: 'stoker-operator', webhookReceiver: { enabled: true } });
  const ofRecipes = manifests.flatMap((page) => documentsOf(page).objects);
  const names = new Set([...objects, ...ofRecipes].map(({ kind, metadata }) => `${kind} ${metadata?.name}`));
  const kinds: Record<string, string> = {
    deploy: 'Deployment',
    deployment: 'Deployment',
    svc: 'Service',
    service: 'Service',
  };
  const ofKubernetes = ['ClusterRole view', 'ClusterRole edit'];
  for (const page of pages) {
    for (const command of commandsOf(page)) {
      const named = [...command.matchAll(/\b(deploy|deployment|svc|service)\/([a-z<][\w<>-]*)/g)];
      const roles = [...command.matchAll(/--clusterrole=(\S+)/g)].map(([, name]) => `ClusterRole ${name}`);
      for (const name of [...named.map(([, kind = '', name]) => `${kinds[kind]} ${name}`), ...roles]) {
        assert.ok(names.has(name) || ofKubernetes.includes(name), `${page.file}: ${name}: ${command}`);
      }
    }
  }
});
