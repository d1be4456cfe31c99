import { BOUNDS } from '../../shared/api/bounds.ts';
import type { StatusProvider } from '../../shared/api/git.ts';
import type { Reason } from '../../shared/api/reasons.ts';
import { withoutTrailingSlashes } from '../../shared/domain/files/relative-path.ts';
import { renderTemplate } from '../../shared/domain/files/render-template.ts';
import { GITHUB_API, githubApiOf, isPlainUrl } from '../../shared/domain/git/github-api.ts';
import { inUrl, parseRepository, repositoryPathOf } from '../../shared/domain/git/repository.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { azureApiHost, azureRepositoryOf, isAzureDevOps } from './azure-devops.ts';

/** Destination of the commit status of a resource. */
export interface Destination {
  provider: StatusProvider;
  /** Base URL of the API: https, without a trailing slash. */
  api: string;
  /** Unescaped segments of the project's path: an owner and a name, or any number on GitLab. */
  project: string[];
  /** Rendered name of the status. */
  context: string;
}

/** Why a status isn't posted, with a message for a condition. */
export interface Problem<R extends Reason = Reason> {
  reason: R;
  message: string;
}

type InvalidDestination = { kind: 'problem' } & Problem<'CommitStatusInvalid' | 'ClusterNameMissing'>;

export type FoundDestination = { kind: 'destination'; destination: Destination } | InvalidDestination;

/** Well-known servers by host name (https and ssh), with the API of each. */
const KNOWN: Record<string, { provider: StatusProvider; api?: string }> = {
  'github.com': { provider: 'github', api: GITHUB_API },
  'ssh.github.com': { provider: 'github', api: GITHUB_API },
  'gitlab.com': { provider: 'gitlab', api: 'https://gitlab.com/api/v4' },
  'altssh.gitlab.com': { provider: 'gitlab', api: 'https://gitlab.com/api/v4' },
  'bitbucket.org': { provider: 'bitbucket', api: 'https://api.bitbucket.org/2.0' },
  'altssh.bitbucket.org': { provider: 'bitbucket', api: 'https://api.bitbucket.org/2.0' },
  'codeberg.org': { provider: 'gitea', api: 'https://codeberg.org/api/v1' },
  'gitea.com': { provider: 'gitea', api: 'https://gitea.com/api/v1' },
};

/** Path of each API, below the origin or the installation; Azure DevOps has it below the organization or collection. */
const API_PATHS: Record<StatusProvider, string> = {
  github: '/api/v3',
  gitlab: '/api/v4',
  gitea: '/api/v1',
  bitbucket: '/2.0',
  azuredevops: '',
};

/** Returns the destination of a resource's commit status; undefined if none is configured. */
export function destinationOf(
  { namespace, name, spec }: ObservedGatewaySync,
  cluster: string,
): FoundDestination | undefined {
  const { repo, commitStatus, auth } = spec.git;
  if (!commitStatus) return undefined;
  const context = contextOf(commitStatus.context, { cluster, namespace, name });
  if (context.kind === 'problem') return context;
  const repository = parseRepository(repo);
  if (!repository) return invalid("the host of spec.git.repo can't be determined; use an https or ssh URL");
  const { host } = repository;
  const known = KNOWN[host] ?? (isAzureDevOps(host) ? { provider: 'azuredevops' } : undefined);
  const provider = commitStatus.provider ?? (auth?.githubApp ? 'github' : known?.provider);
  if (!provider) return invalid('the API of the git server is unknown; set spec.git.commitStatus.provider');
  const place = placeIn(provider, host, repositoryPathOf(repo));
  if (!place)
    return invalid(`spec.git.repo doesn't end with ${ENDINGS[provider] ?? 'the owner and the name of a repository'}`);
  const given = commitStatus.url ?? (provider === 'github' ? auth?.githubApp?.apiBaseURL : undefined);
  const usual = known?.provider === provider ? known.api : undefined;
  const api = given ?? usual ?? usualApi(repo, { provider, host, root: place.root });
  if (api === undefined) return invalid('the URL of the API is unknown; set spec.git.commitStatus.url');
  if (!api.startsWith('https://') || !isPlainUrl(api))
    return invalid(
      'the URL of the API must begin with https:// and contain no credentials; change spec.git.commitStatus.url',
    );
  const destination = {
    provider,
    context: context.text,
    api: withoutTrailingSlashes(api),
    project: provider === 'gitlab' ? withoutRoot(place.project, api) : place.project,
  };
  return { kind: 'destination', destination };
}

interface Names {
  cluster: string;
  namespace: string;
  name: string;
}

/** Renders the context. Without the cluster's name, two clusters would overwrite each other's status. */
function contextOf(
  template: string,
  { cluster, namespace, name }: Names,
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

const ENDINGS: Partial<Record<StatusProvider, string>> = {
  azuredevops: 'the project, _git, and the name of a repository, or for SSH with v3/ORGANIZATION/PROJECT/REPOSITORY',
};

/** A repository on its host; `root` is the path of the installation, or the organization of Azure DevOps. */
interface Place {
  root: string[];
  project: string[];
}

function placeIn(provider: StatusProvider, host: string, path: string[] = []): Place | undefined {
  if (provider === 'azuredevops') return azureRepositoryOf(host, path);
  const mayBeLonger = provider === 'gitlab' || provider === 'gitea';
  if (path.length < 2 || (path.length > 2 && !mayBeLonger)) return undefined;
  return provider === 'gitlab' ? { root: [], project: path } : { root: path.slice(0, -2), project: path.slice(-2) };
}

interface Api {
  provider: StatusProvider;
  host: string;
  root: string[];
}

/** The default API of the provider on a host. For SSH, it's the same host and the default port. */
function usualApi(repo: string, { provider, host, root }: Api): string | undefined {
  if (/^(http|git):/i.test(repo) || provider === 'bitbucket') return undefined;
  const github = provider === 'github' ? githubApiOf(host) : undefined;
  if (github !== undefined) return github;
  const apiHost = provider === 'azuredevops' ? azureApiHost(host) : host;
  const origin = /^https:/i.test(repo) ? new URL(repo).origin : `https://${inUrl(apiHost)}`;
  return `${origin}${root.map((part) => `/${encodeURIComponent(part)}`).join('')}${API_PATHS[provider]}`;
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
