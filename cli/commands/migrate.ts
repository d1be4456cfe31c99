import type { Tags } from 'yaml';
import { GATEWAY_SYNC } from '../../shared/api/group.ts';
import { docsOf } from '../../shared/docs-site.ts';
import { version } from '../../shared/version.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { makeCommand } from '../command-support/command.ts';
import { say } from '../command-support/confirm.ts';
import { readManifest } from '../command-support/read-manifest.ts';
import { type Document, migrate as migrateDocuments } from '../migrate/migrate.ts';
import { drawData } from '../terminal/data.ts';
import { plain } from '../terminal/text.ts';

/** `kubectl stoker migrate`: converts git-sync, k8s-sidecar, or gitRepo volumes to a GatewaySync. */
export const migrate = makeCommand({
  name: 'migrate',
  summary: 'Convert git-sync, k8s-sidecar, or gitRepo volumes in a manifest to GatewaySyncs',
  details: [
    'Reads Pods, Deployments, StatefulSets, DaemonSets, Jobs, CronJobs, and other objects with a pod template. Prints GatewaySyncs, and the same objects with the annotations of the operator and without the containers and volumes that it replaces. Applications find the same files at the same paths.',
    'Settings without a counterpart are listed in comments above the object: TODO is left for you to do, differs marks a change of behaviour, and dropped is no longer needed. Containers and volumes that cannot be converted are left unchanged, with the reason on stderr.',
    'Does not access a cluster, and prints nothing if the manifest contains a password of a repository. Exits with 0 if everything was converted, and with 1 if not or if the manifest is unreadable.',
    'k8s-sidecar copies ConfigMaps, and its settings do not include their source: specify the repository with the original files with --repo, --ref, and --path.',
  ],
  examples: [
    { line: 'migrate -f site.yaml', does: 'Show the converted manifest' },
    { line: 'migrate -f -', does: 'Convert the output of another program, such as kubectl get deployment -o yaml' },
    {
      line: 'migrate -f grafana.yaml --repo https://git.example.com/ops/dashboards.git --path grafana',
      does: 'Deliver this directory instead of the ConfigMaps that k8s-sidecar copies',
    },
  ],
  args: {
    file: {
      type: 'string',
      alias: 'f',
      required: true,
      valueHint: 'FILE',
      description: 'Path of the manifest, or - for stdin.',
    },
    repo: {
      type: 'string',
      valueHint: 'URL',
      description: 'For k8s-sidecar: repository with the files of its ConfigMaps.',
    },
    ref: { type: 'string', valueHint: 'R', description: 'Ref of that repository. Default: its default branch.' },
    path: { type: 'string', valueHint: 'DIRECTORY', description: 'Directory of that repository. Default: its root.' },
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const { repo, ref, path } = args;
    if (repo === undefined && (ref !== undefined || path !== undefined))
      throw new Problem('--ref and --path require --repo', 'InvalidArguments');
    const named = repo === undefined ? undefined : { repo, ref, directory: path ?? '.' };
    const objects = await readManifest(args.file, host, { version: '1.1', customTags: asKubectlHasThem });
    const result = migrateDocuments(objects, named);
    if (result.kind === 'refused') throw new Problem(`nothing was printed: ${result.why}`, 'ManifestInvalid');
    const { documents, stays, untouched } = result;
    host.print(documents.map(draw).join('---\n'));
    for (const text of stays) say(text, host);
    if (documents.length > 0 && untouched.length > 0)
      say(`not printed because nothing changes: ${untouched.join(', ')}`, host);
    if (documents.length === 0 && stays.length === 0)
      throw new Problem('the manifest has no git-sync, k8s-sidecar, or gitRepo volume', 'NothingToDo');
    const open = documents.flatMap(({ notes }) => notes).filter((note) => note.startsWith('TODO')).length;
    if (open > 0) say(`${open === 1 ? '1 TODO' : `${open} TODOs`} left: see the comments`, host);
    return stays.length === 0 ? EXIT.ok : EXIT.failed;
  },
});

/**
 * Matches the parser of kubectl: YAML 1.1, where 0400 is octal and `on` is true, but with times, dates, and a single
 * dot as text.
 */
function asKubectlHasThem(tags: Tags): Tags {
  return tags.flatMap((tag): Exclude<Tags[number], string>[] | Tags => {
    if (typeof tag === 'string') return [tag];
    if (tag.tag.endsWith(':timestamp') || ('format' in tag && tag.format === 'TIME')) return [];
    return 'test' in tag && tag.test?.test('.') ? [{ ...tag, test: /^[-+]?(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)$/ }] : [tag];
  });
}

/** Names the schema of a GatewaySync for editors. */
const SCHEMA_COMMENT = `yaml-language-server: $schema=${docsOf(version)}/schemas/sync.io/gatewaysync_v1alpha1.json`;

function draw({ notes, object }: Document): string {
  const comments = object.kind === GATEWAY_SYNC.kind ? [...notes, SCHEMA_COMMENT] : notes;
  return `${comments.map((comment) => `# ${plain(comment)}\n`).join('')}${drawData(object, 'yaml')}`;
}
