import { hash } from 'node:crypto';
import { BOUNDS } from '../../shared/api/bounds.ts';
import type { StatusProvider } from '../../shared/api/git.ts';
import { withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';
import { renderTemplate } from '../../shared/domain/render-template.ts';
import { inUrl, parseRepository } from '../../shared/domain/repository.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/** Where the status of a resource is posted. */
export interface Destination {
  provider: StatusProvider;
  /** Base of the API, by https and without a slash at its end. */
  api: string;
  /** Parts of the path of the project, as they are and not escaped: an owner and a name, or any number at GitLab. */
  project: string[];
  /** Name of the status, with its values in place. */
  context: string;
  /** Hash of all that. */
  target: string;
}

/** Why a status is not posted, in words for a condition. */
export interface Problem<Reason extends string = string> {
  reason: Reason;
  message: string;
}

type InvalidDestination = { kind: 'problem' } & Problem<'CommitStatusInvalid' | 'ClusterNameMissing'>;

export type FoundDestination = { kind: 'destination'; destination: Destination } | InvalidDestination;

/** Hosts that everybody knows, by the names that they have for https and ssh, and the API of each. */
const KNOWN: Record<string, { provider: StatusProvider; api: string }> = {
  'github.com': { provider: 'github', api: 'https://api.github.com' },
  'ssh.github.com': { provider: 'github', api: 'https://api.github.com' },
  'gitlab.com': { provider: 'gitlab', api: 'https://gitlab.com/api/v4' },
  'altssh.gitlab.com': { provider: 'gitlab', api: 'https://gitlab.com/api/v4' },
  'bitbucket.org': { provider: 'bitbucket', api: 'https://api.bitbucket.org/2.0' },
  'altssh.bitbucket.org': { provider: 'bitbucket', api: 'https://api.bitbucket.org/2.0' },
  'codeberg.org': { provider: 'gitea', api: 'https://codeberg.org/api/v1' },
  'gitea.com': { provider: 'gitea', api: 'https://gitea.com/api/v1' },
};

/** Where each kind of host has its API, below its origin or where it is installed. */
const API_PATHS: Record<StatusProvider, string> = {
  github: '/api/v3',
  gitlab: '/api/v4',
  gitea: '/api/v1',
  bitbucket: '/2.0',
};

/** Says where the status of a resource belongs, in a cluster of that name; undefined where none is asked for. */
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
  const known = KNOWN[repository.host];
  const provider = commitStatus.provider ?? (auth?.githubApp ? 'github' : known?.provider);
  if (!provider) return invalid('the API of the git server is unknown; set spec.git.commitStatus.provider');
  const path = segmentsOf(repo);
  const isPath = path && (provider === 'gitlab' || provider === 'gitea' ? path.length >= 2 : path.length === 2);
  if (!isPath) return invalid("spec.git.repo doesn't end with the owner and the name of a repository");
  const given = commitStatus.url ?? (provider === 'github' ? auth?.githubApp?.apiBaseURL : undefined);
  const usual = known?.provider === provider ? known.api : usualApi(repo, { provider, host: repository.host, path });
  const api = given ?? usual;
  if (api === undefined) return invalid('the URL of the API is unknown; set spec.git.commitStatus.url');
  if (!isPlainHttps(api))
    return invalid(
      'the URL of the API must begin with https:// and contain no credentials; change spec.git.commitStatus.url',
    );
  const destination = {
    provider,
    context: context.text,
    api: withoutTrailingSlashes(api),
    project: provider === 'gitlab' ? withoutRoot(path, api) : path.slice(-2),
  };
  const target = hash('sha256', JSON.stringify(destination)).slice(0, 16);
  return { kind: 'destination', destination: { ...destination, target } };
}

interface Names {
  cluster: string;
  namespace: string;
  name: string;
}

/** Without the name of its cluster two clusters would take turns in one status. */
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

/** Parts of the path of a repository; undefined where one of them could lead elsewhere. */
function segmentsOf(repo: string): string[] | undefined {
  const path = repo.includes('://') ? new URL(repo).pathname : repo.slice(repo.indexOf(':') + 1);
  try {
    const segments = path
      .replace(/^\/+|\/+$/g, '')
      .replace(/\.git$/, '')
      .split('/')
      .map(decodeURIComponent);
    return segments.some((segment) => /^\.{0,2}$|[\p{Cc}\\]/u.test(segment)) ? undefined : segments;
  } catch {
    return undefined;
  }
}

/** The API that a host of the kind has by default. By ssh it is taken to be at the same host, at the usual port. */
function usualApi(repo: string, { provider, host, path }: { provider: StatusProvider; host: string; path: string[] }) {
  if (/^(http|git):/i.test(repo) || provider === 'bitbucket') return undefined;
  const origin = /^https:/i.test(repo) ? new URL(repo).origin : `https://${inUrl(host)}`;
  if (provider === 'github' && host.endsWith('.ghe.com')) return `https://api.${host}`;
  // Gitea may be installed below a path.
  const root = provider === 'gitea' ? path.slice(0, -2).map((part) => `/${encodeURIComponent(part)}`) : [];
  return `${origin}${root.join('')}${API_PATHS[provider]}`;
}

function isPlainHttps(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, search, hash } = new URL(url);
  return protocol === 'https:' && `${username}${password}${search}${hash}` === '';
}

/** Where GitLab is installed below a path, that is no part of the project. */
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
