import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import type { StatusProvider } from '../../shared/api/git.ts';
import { githubApiOf } from '../../shared/domain/git/github-api.ts';
import { shorten } from '../../shared/domain/text/shorten.ts';
import { oneLine } from '../../shared/domain/text/text.ts';

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

/** A status of a commit. */
export interface CommitStatus {
  commit: string;
  state: CommitStatusRecord['state'];
  description: string;
  /** The ref of the commit, as in the status of the resource. */
  ref?: string | undefined;
}

/** A POST of JSON. */
interface StatusRequest {
  url: string;
  body: Record<string, unknown>;
}

/** A repository on its host; `root` is the path of the installation, or the organization of Azure DevOps. */
interface RepositoryPath {
  root: string[];
  project: string[];
}

/** One kind of git server. */
interface GitServer {
  /** Finds the project in the unescaped path of a clone URL; undefined for other paths. */
  locate: (path: string[], host: string) => RepositoryPath | undefined;
  /** End of a clone URL, for messages. */
  ending: string;
  /** Returns the API of an installation; undefined if it's unknown. */
  apiOf: (installation: string, host: string) => string | undefined;
  request: (destination: Destination, status: CommitStatus) => StatusRequest;
  /** Maximum length of a description (characters). */
  maxDescription: number;
  /** Permission that is often missing, for messages. */
  permission?: string;
  /** Statuses, besides 401, with which it responds to a token that it doesn't know. */
  signIn?: number[];
  /** Text in a response with 400 if the commit has this status already. */
  unchanged?: string;
}

const escaped = (parts: string[]): string => parts.map(encodeURIComponent).join('/');

const anyOwner = {
  locate: (path) => (path.length < 2 ? undefined : { root: path.slice(0, -2), project: path.slice(-2) }),
  ending: 'the owner and the name of a repository',
  maxDescription: 255,
} satisfies Partial<GitServer>;

const oneOwner: typeof anyOwner = {
  ...anyOwner,
  locate: (path) => (path.length === 2 ? anyOwner.locate(path) : undefined),
};

/** GitHub's request, which Gitea and Forgejo have adopted. */
const likeGitHub: GitServer['request'] = ({ api, project, context }, { commit, state, description }) => ({
  url: `${api}/repos/${escaped(project)}/statuses/${commit}`,
  body: { state, context, description },
});

/** Maximum length of the key of a status on Bitbucket (characters). */
const MAX_KEY = 40;

export const SERVERS: Record<StatusProvider, GitServer> = {
  /** https://docs.github.com/en/rest/commits/statuses#create-a-commit-status */
  github: {
    ...oneOwner,
    apiOf: (installation, host) => githubApiOf(host) ?? `${installation}/api/v3`,
    request: likeGitHub,
    maxDescription: 140,
  },
  /** https://docs.gitea.com/api/#tag/repository/operation/repoCreateStatus */
  gitea: { ...anyOwner, apiOf: (installation) => `${installation}/api/v1`, request: likeGitHub },
  /** https://docs.gitlab.com/api/commits/#set-commit-pipeline-status */
  gitlab: {
    ...anyOwner,
    // A group can be in any number of others, so only the URL of the API shows where the installation is.
    locate: (path) => (path.length < 2 ? undefined : { root: [], project: path }),
    apiOf: (installation) => `${installation}/api/v4`,
    request: ({ api, project, context }, { commit, state, description, ref }) => ({
      url: `${api}/projects/${encodeURIComponent(project.join('/'))}/statuses/${commit}`,
      body: { state: state === 'failure' ? 'failed' : state, name: context, description, ...pipelineOf(commit, ref) },
    }),
    permission: 'for a protected branch, GitLab requires the role Maintainer, or one that can push or merge there',
    unchanged: 'Cannot transition status',
  },
  /** https://developer.atlassian.com/cloud/bitbucket/rest/api-group-commit-statuses; it requires a link. */
  bitbucket: {
    ...oneOwner,
    apiOf: (_, host) => (host === 'bitbucket.org' ? 'https://api.bitbucket.org/2.0' : undefined),
    request: ({ api, project, context }, { commit, state, description }) => ({
      url: `${api}/repositories/${escaped(project)}/commit/${commit}/statuses/build`,
      body: {
        state: { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED' }[state],
        key: shorten(context, MAX_KEY),
        name: context,
        description,
        url: `https://bitbucket.org/${escaped(project)}/commits/${commit}`,
      },
    }),
  },
  /** https://learn.microsoft.com/rest/api/azure/devops/git/statuses/create */
  azuredevops: {
    locate: locateInAzure,
    ending: 'the project, _git, and the name of a repository, or for SSH with v3/ORGANIZATION/PROJECT/REPOSITORY',
    apiOf: (installation) => installation,
    request: ({ api, project: [project = '', name = ''], context }, { commit, state, description }) => ({
      url: `${api}/${escaped([project])}/_apis/git/repositories/${escaped([name])}/commits/${commit}/statuses?api-version=5.0`,
      body: {
        state: { pending: 'pending', success: 'succeeded', failure: 'failed' }[state],
        description,
        context: { genre: 'stoker', name: context },
      },
    }),
    maxDescription: 255,
    permission: 'the scope Code: Status',
    signIn: [203, 302],
  },
};

/** Makes the request for a status, within the limits of the server. */
export function statusRequest(destination: Destination, status: CommitStatus): StatusRequest {
  const { request, maxDescription } = SERVERS[destination.provider];
  return request(destination, { ...status, description: oneLine(status.description, maxDescription) });
}

/** Without a ref, GitLab selects the first branch with the commit, and doesn't find commits that only a tag has. */
function pipelineOf(commit: string, ref = ''): Record<string, string> {
  const name = ref.replace(/^refs\/(heads|tags)\//, '');
  return name === '' || name === 'HEAD' || name.startsWith('refs/') || commit.startsWith(name) ? {} : { ref: name };
}

/**
 * The project is missing if the repository has its name, and the path of the cloud service differs over SSH.
 * https://learn.microsoft.com/azure/devops/repos/git/clone
 */
function locateInAzure(path: string[], host: string): RepositoryPath | undefined {
  const [marker, name] = path.slice(-2);
  if (marker !== '_git' || name === undefined) {
    const isCloudSsh = host === AZURE && path[0] === 'v3' && path.length === 4;
    return isCloudSsh ? { root: path.slice(1, 2), project: path.slice(2) } : undefined;
  }
  const before = path.slice(0, -2);
  const length = rootLength(before, host);
  const [project = name, ...others] = before.slice(length);
  return length < 0 || others.length > 0 ? undefined : { root: before.slice(0, length), project: [project, name] };
}

/** Segments before the project: the organization, or `DefaultCollection`; on a server, all but the last one. */
function rootLength(before: string[], host: string): number {
  if (host === AZURE) return before.length === 0 ? -1 : 1;
  if (!host.endsWith('.visualstudio.com')) return before.length - 1;
  return before[0]?.toLowerCase() === 'defaultcollection' ? 1 : 0;
}

const AZURE = 'dev.azure.com';

const WELL_KNOWN = new Map<string, StatusProvider>([
  ['github.com', 'github'],
  ['gitlab.com', 'gitlab'],
  ['bitbucket.org', 'bitbucket'],
  ['codeberg.org', 'gitea'],
  ['gitea.com', 'gitea'],
  [AZURE, 'azuredevops'],
]);

/** Hosts of well-known servers for SSH, with the one for HTTPS. */
const SSH_HOSTS = new Map([
  ['ssh.github.com', 'github.com'],
  ['altssh.gitlab.com', 'gitlab.com'],
  ['altssh.bitbucket.org', 'bitbucket.org'],
  ['ssh.dev.azure.com', AZURE],
  ['vs-ssh.visualstudio.com', AZURE],
]);

/** Returns the host for HTTPS of the host in a clone URL, and the kind of a well-known server. */
export function recognize(cloneHost: string): { host: string; provider: StatusProvider | undefined } {
  const host = SSH_HOSTS.get(cloneHost) ?? cloneHost;
  return { host, provider: WELL_KNOWN.get(host) ?? (host.endsWith('.visualstudio.com') ? 'azuredevops' : undefined) };
}
