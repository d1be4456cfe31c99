import { BOUNDS } from '../../shared/api/bounds.ts';
import type { Problem } from '../../shared/api/reasons.ts';
import { withoutTrailingSlashes } from '../../shared/domain/files/relative-path.ts';
import { renderTemplate } from '../../shared/domain/files/render-template.ts';
import { isPlainUrl } from '../../shared/domain/git/github-api.ts';
import { inUrl, parseRepository, repositoryPathOf } from '../../shared/domain/git/repository.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type Destination, recognize, SERVERS } from './servers.ts';

type InvalidDestination = { kind: 'problem' } & Problem<'CommitStatusInvalid' | 'ClusterNameMissing'>;

export type FoundDestination = { kind: 'destination'; destination: Destination } | InvalidDestination;

/** Returns the destination of a resource's commit status; undefined if none is configured. */
export function destinationOf(gatewaySync: ObservedGatewaySync, cluster: string): FoundDestination | undefined {
  const { repo, commitStatus, auth } = gatewaySync.spec.git;
  if (!commitStatus) return undefined;
  const context = contextOf(commitStatus.context, gatewaySync, cluster);
  if (context.kind === 'problem') return context;
  const repository = parseRepository(repo);
  if (!repository) return invalid("the host of spec.git.repo can't be determined; use an https or ssh URL");
  const known = recognize(repository.host);
  const provider = commitStatus.provider ?? (auth?.githubApp ? 'github' : known.provider);
  if (!provider) return invalid('the API of the git server is unknown; set spec.git.commitStatus.provider');
  const server = SERVERS[provider];
  const path = server.locate(repositoryPathOf(repo) ?? [], known.host);
  if (!path) return invalid(`spec.git.repo doesn't end with ${server.ending}`);
  const given = commitStatus.url ?? (provider === 'github' ? auth?.githubApp?.apiBaseURL : undefined);
  const origin = known.provider ? `https://${known.host}` : originOf(repo, known.host);
  const installation = [origin, ...path.root.map(encodeURIComponent)].join('/');
  const api = given ?? (origin && server.apiOf(installation, known.host));
  if (api === undefined) return invalid('the URL of the API is unknown; set spec.git.commitStatus.url');
  if (!api.startsWith('https://') || !isPlainUrl(api))
    return invalid(
      'the URL of the API must begin with https:// and contain no credentials; change spec.git.commitStatus.url',
    );
  const project = provider === 'gitlab' ? withoutRoot(path.project, api) : path.project;
  return {
    kind: 'destination',
    destination: { provider, context: context.text, api: withoutTrailingSlashes(api), project },
  };
}

/** Renders the context. Without the cluster's name, two clusters would overwrite each other's status. */
function contextOf(
  template: string,
  { namespace, name }: ObservedGatewaySync,
  cluster: string,
): { kind: 'rendered'; text: string } | InvalidDestination {
  const values = new Map(Object.entries({ Namespace: namespace, Name: name }));
  if (cluster) values.set('Cluster', cluster);
  const rendered = renderTemplate(template, values, BOUNDS.statusContext);
  if (rendered.kind === 'rendered') return rendered;
  if (!cluster && /\{\{ *\.Cluster *\}\}/.test(template))
    return {
      kind: 'problem',
      reason: 'ClusterNameMissing',
      message:
        'spec.git.commitStatus.context contains {{ .Cluster }}, but the name of the cluster is unknown; set the chart value clusterName, or change the context',
    };
  return invalid(`spec.git.commitStatus.context: ${rendered.message}`);
}

/** The address of a server over https: for SSH the same host and the default port. Undefined without encryption. */
function originOf(repo: string, host: string): string | undefined {
  if (/^(http|git):/i.test(repo)) return undefined;
  return /^https:/i.test(repo) ? new URL(repo).origin : `https://${inUrl(host)}`;
}

/** Removes the installation path of GitLab from the path of a project. */
function withoutRoot(path: string[], api: string): string[] {
  const root = new URL(api).pathname
    .replace(/\/api\/v4\/?$/, '')
    .split('/')
    .filter(Boolean);
  return root.length + 2 <= path.length && root.every((part, index) => part === path[index])
    ? path.slice(root.length)
    : path;
}

const invalid = (message: string): InvalidDestination => ({ kind: 'problem', reason: 'CommitStatusInvalid', message });
