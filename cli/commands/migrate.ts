import { readFile } from 'node:fs/promises';
import { parseAllDocuments, type Tags } from 'yaml';
import { messageOf } from '../../shared/errors.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { type Document, migrate as migrateDocuments } from '../migrate/migrate.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { plain } from '../terminal/text.ts';
import { makeCommand } from './command.ts';
import { say } from './confirm.ts';

/** `kubectl stoker migrate`: from git-sync, k8s-sidecar or a gitRepo volume to a GatewaySync. */
export const migrate = makeCommand({
  name: 'migrate',
  summary: 'Make a GatewaySync of git-sync, k8s-sidecar or a gitRepo volume in a manifest',
  details: [
    'Reads Pods, Deployments, StatefulSets, DaemonSets, Jobs, CronJobs and whatever else holds a pod template, and prints GatewaySyncs and the same objects with the annotations of the operator, without the containers and volumes that they replace. Applications find the same files at the same paths.',
    'What has no counterpart is a comment above the object: TODO is for you, differs is another behaviour, dropped does not matter any more. What cannot be moved stays as it is, and a line on stderr says why.',
    'It asks no cluster, and prints nothing if the manifest holds a password of a repository. It exits with 0 if it moved all that it found, and with 1 if not, or if the manifest cannot be read.',
    'k8s-sidecar copies ConfigMaps and does not know where they come from: name the repository that they are made of with --repo, --ref and --path.',
  ],
  examples: [
    { line: 'migrate -f site.yaml', does: 'look at what it comes to' },
    { line: 'migrate -f -', does: 'of what another program prints, such as kubectl get deployment -o yaml' },
    {
      line: 'migrate -f grafana.yaml --repo https://git.example.com/ops/dashboards.git --path grafana',
      does: 'the ConfigMaps that k8s-sidecar copies are made of this folder',
    },
  ],
  args: {
    file: { type: 'string', alias: 'f', required: true, valueHint: 'FILE', description: 'The manifest; - is stdin.' },
    repo: { type: 'string', valueHint: 'URL', description: 'For k8s-sidecar: the repository of its ConfigMaps.' },
    ref: { type: 'string', valueHint: 'R', description: 'What to follow there. Left out: the default branch.' },
    path: { type: 'string', valueHint: 'FOLDER', description: 'Folder of that repository. Left out: all of it.' },
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const { repo, ref, path } = args;
    if (repo === undefined && (ref !== undefined || path !== undefined))
      throw new Problem('--ref and --path are of a repository: add --repo', EXIT.usage);
    const named = repo === undefined ? undefined : { repo, ref, folder: path ?? '.' };
    const result = migrateDocuments(parseManifest(await readManifest(args.file, host)), named);
    if (result.kind === 'refused') throw new Problem(`nothing was printed: ${result.why}`);
    const { documents, stays, untouched } = result;
    host.print(documents.map(draw).join('---\n'));
    for (const text of stays) say(text, host);
    if (documents.length > 0 && untouched.length > 0)
      say(`not printed, since nothing changes: ${untouched.join(', ')}`, host);
    if (documents.length === 0 && stays.length === 0)
      throw new Problem('there is no git-sync, k8s-sidecar or gitRepo volume in it');
    const open = documents.flatMap(({ notes }) => notes).filter((note) => note.startsWith('TODO')).length;
    if (open > 0) say(`${open === 1 ? 'one comment is a TODO' : `${open} comments are TODOs`} for you`, host);
    return stays.length === 0 ? EXIT.ok : EXIT.failed;
  },
});

async function readManifest(file: string, { input }: Host): Promise<string> {
  try {
    if (file !== '-') return await readFile(file, 'utf8');
    if (input) return await input();
  } catch (error) {
    throw new Problem(`the manifest cannot be read: ${messageOf(error)}`, EXIT.failed, { cause: error });
  }
  throw new Problem('there is no stdin to read: name a file', EXIT.usage);
}

/** The documents of a manifest. Throws `Problem`. */
function parseManifest(text: string): unknown[] {
  try {
    const documents = parseAllDocuments(text, { version: '1.1', logLevel: 'silent', customTags: asKubectlHasThem });
    if (!Array.isArray(documents)) return [];
    return documents.map((document) => {
      const [error] = document.errors;
      if (error) throw error;
      const value: unknown = document.toJS();
      // By aliases a value can be a part of itself, which no JSON can say: the API server does not take it.
      JSON.stringify(value);
      return value;
    });
  } catch (error) {
    throw new Problem(`the manifest is not valid YAML: ${messageOf(error)}`, EXIT.failed, { cause: error });
  }
}

/**
 * kubectl reads YAML 1.1, in which 0400 is octal and `on` is true, but takes times and dates for text, and a single dot
 * as well.
 */
function asKubectlHasThem(tags: Tags): Tags {
  return tags.flatMap((tag): Exclude<Tags[number], string>[] | Tags => {
    if (typeof tag === 'string') return [tag];
    if (tag.tag.endsWith(':timestamp') || ('format' in tag && tag.format === 'TIME')) return [];
    return 'test' in tag && tag.test?.test('.') ? [{ ...tag, test: /^[-+]?(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)$/ }] : [tag];
  });
}

const draw = ({ notes, object }: Document): string =>
  `${notes.map((note) => `# ${plain(note)}\n`).join('')}${drawData(object, 'yaml')}`;
