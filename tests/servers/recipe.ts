import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { blocksOf } from '../support/markdown.ts';

const examples = path.join(import.meta.dirname, '../../examples');

/** Text files by their path. */
export type Files = Record<string, string>;

/** A container of a pod, as far as it is started here. */
export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[];
  ports?: { containerPort: number }[];
  securityContext?: object;
  volumeMounts: { name: string; mountPath: string }[];
}

interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: {
    containers: Container[];
    volumes: { name: string; configMap?: { name: string }; emptyDir?: object }[];
    shareProcessNamespace?: boolean;
    securityContext?: object;
  };
}

/** The parts of a spec that a test needs to know. */
interface Spec {
  sync: { profiles: { default: { mappings: { source: string; destination: string }[] } } };
  gateway: { port: number; verify: object };
  rollout: object;
}

/** A mistake in a line of a file, and the message that users then see. */
interface Mistake {
  files: Files;
  file: string;
  line: string;
  message: string;
  /** Whether the canary gets the file. Otherwise, the preview finds the mistake. */
  isDelivered: boolean;
}

/** A command that shows which configuration a server uses, and its output. */
export interface Answer {
  command: string;
  output: string;
}

/** A server with its manifests, its repository, and the changes that its page describes. */
export interface Recipe {
  name: string;
  spec: Spec;
  template: PodTemplate;
  configMaps: Map<string, Files>;
  secrets: Map<string, Files>;
  files: Files;
  before: Answer;
  changed: Files;
  after: Answer;
  mistakes: Mistake[];
}

// biome-ignore lint/suspicious/noExplicitAny: of any kind
type Manifest = any;

/** Reads a directory of examples/. */
export async function readRecipe(name: string): Promise<Recipe> {
  const directory = path.join(examples, name);
  const manifests: Manifest[] = parseAllDocuments(await readFile(path.join(directory, 'manifests.yaml'), 'utf8')).map(
    (document) => document.toJS(),
  );
  const workload = manifests.find(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind));
  const dataOf = (wanted: string, field: string) =>
    new Map(manifests.filter(({ kind }) => kind === wanted).map((each) => [each.metadata.name, each[field]]));
  const files = await readTree(path.join(directory, 'repository'));
  return {
    name,
    spec: manifests.find(({ kind }) => kind === 'GatewaySync').spec,
    template: podTemplateOf(workload.spec),
    configMaps: dataOf('ConfigMap', 'data'),
    secrets: dataOf('Secret', 'stringData'),
    files,
    ...readPage(await readFile(path.join(directory, 'README.md'), 'utf8'), files),
  };
}

/** Returns the template with directories instead of claims. */
function podTemplateOf({ template: { metadata, spec }, volumeClaimTemplates = [] }: Manifest): PodTemplate {
  const claimed = volumeClaimTemplates.map((claim: Manifest) => ({ name: claim.metadata.name, emptyDir: {} }));
  return { metadata, spec: { ...spec, volumes: [...(spec.volumes ?? []), ...claimed] } };
}

async function readTree(root: string): Promise<Files> {
  const files: Files = {};
  for await (const entry of glob('**', { cwd: root, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile()) files[path.relative(root, file)] = await readFile(file, 'utf8');
  }
  return files;
}

/** Reads the changes that a page describes. */
function readPage(text: string, files: Files): Pick<Recipe, 'before' | 'changed' | 'after' | 'mistakes'> {
  const blocks = (heading: string, wanted: string) => {
    const [section = ''] = text.split(`\n## ${heading}\n`)[1]?.split(/^## /m) ?? [];
    const found = blocksOf({ file: heading, text: section }).filter(({ language }) => language === wanted);
    return found.map(({ code }) => code);
  };
  const { changed } = applyChange(files, blocks('See it work', 'diff')[0] ?? '');
  const messages = blocks('Break it', 'text').map((message) => message.trim());
  return {
    before: answerIn(blocks('Apply it', 'console')),
    changed,
    after: answerIn(blocks('See it work', 'console')),
    mistakes: blocks('Break it', 'diff').map((diff, index) => {
      const { changed: damaged, ...mistake } = applyChange(changed, diff);
      const message = messages[index] ?? '';
      return { ...mistake, files: damaged, message, isDelivered: !/line \d+, column/.test(message) };
    }),
  };
}

/** Returns the last command in the blocks, and its output. */
function answerIn(blocks: string[]): Answer {
  const [, command = '', output = ''] = /^\$ (.*)\n([^$]*)$/m.exec(blocks.at(-1) ?? '') ?? [];
  return { command, output };
}

/** Applies a diff of one line, which must be in exactly one of the files. */
function applyChange(files: Files, diff: string): { changed: Files; file: string; line: string } {
  const [, old = '', line = ''] = /^-(.*)\n\+(.*)\n$/.exec(diff) ?? [];
  const [file = '', ...others] = Object.keys(files).filter((each) => files[each]?.split('\n').includes(old));
  assert.ok(file && others.length === 0, `not in exactly one file: ${diff}`);
  return { changed: { ...files, [file]: files[file]?.replace(`${old}\n`, () => `${line}\n`) ?? '' }, file, line };
}
