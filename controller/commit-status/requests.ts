import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import type { StatusProvider } from '../../shared/api/git.ts';
import { isTooOften, pauseMs, retryingAt } from '../../shared/domain/text/duration.ts';
import { shorten } from '../../shared/domain/text/shorten.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Destination } from './destination.ts';

/** A status of a commit. */
export interface CommitStatus {
  commit: string;
  state: CommitStatusRecord['state'];
  description: string;
  /** The ref of the commit, as in the status of the resource. */
  ref?: string | undefined;
}

/** A POST of JSON. */
export interface StatusRequest {
  url: string;
  body: Record<string, unknown>;
}

/** Requests of one kind of server: maximum length of a description (characters), and the request. */
interface Shape {
  description: number;
  request: (destination: Destination, status: CommitStatus) => StatusRequest;
}

const joined = (parts: string[]): string => parts.map(encodeURIComponent).join('/');

/** GitHub's API, which Gitea and Forgejo have adopted. */
const likeGitHub = ({ api, project, context }: Destination, { commit, state, description }: CommitStatus) => ({
  url: `${api}/repos/${joined(project)}/statuses/${commit}`,
  body: { state, context, description },
});

const SHAPES: Record<StatusProvider, Shape> = {
  /** https://docs.github.com/en/rest/commits/statuses#create-a-commit-status */
  github: { description: 140, request: likeGitHub },
  /** https://docs.gitea.com/api/#tag/repository/operation/repoCreateStatus */
  gitea: { description: 255, request: likeGitHub },
  /** https://docs.gitlab.com/api/commits/#set-commit-pipeline-status */
  gitlab: {
    description: 255,
    request: ({ api, project, context }, { commit, state, description, ref }) => ({
      url: `${api}/projects/${encodeURIComponent(project.join('/'))}/statuses/${commit}`,
      body: { state: state === 'failure' ? 'failed' : state, name: context, description, ...pipelineOf(commit, ref) },
    }),
  },
  /** https://developer.atlassian.com/cloud/bitbucket/rest/api-group-commit-statuses; it requires a link. */
  bitbucket: {
    description: 255,
    request: ({ api, project, context }, { commit, state, description }) => ({
      url: `${api}/repositories/${joined(project)}/commit/${commit}/statuses/build`,
      body: {
        state: { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED' }[state],
        key: shorten(context, MAX_KEY),
        name: context,
        description,
        url: `https://bitbucket.org/${joined(project)}/commits/${commit}`,
      },
    }),
  },
  /** https://learn.microsoft.com/rest/api/azure/devops/git/statuses/create */
  azuredevops: {
    description: 255,
    request: ({ api, project: [project = '', name = ''], context }, { commit, state, description }) => ({
      url: `${api}/${joined([project])}/_apis/git/repositories/${joined([name])}/commits/${commit}/statuses?api-version=5.0`,
      body: {
        state: { pending: 'pending', success: 'succeeded', failure: 'failed' }[state],
        description,
        context: { genre: 'stoker', name: context },
      },
    }),
  },
};

/** Without a ref, GitLab selects the first branch with the commit, and doesn't find commits that only a tag has. */
function pipelineOf(commit: string, ref = ''): Record<string, string> {
  const name = ref.replace(/^refs\/(heads|tags)\//, '');
  return name === '' || name === 'HEAD' || name.startsWith('refs/') || commit.startsWith(name) ? {} : { ref: name };
}

/** Maximum length of the key of a status on Bitbucket (characters). */
const MAX_KEY = 40;

/** Makes the request for a status, within the limits of the server. */
export function statusRequest(destination: Destination, status: CommitStatus): StatusRequest {
  const shape = SHAPES[destination.provider];
  return shape.request(destination, { ...status, description: oneLine(status.description, shape.description) });
}

/** Maximum length of a token. */
const MAX_TOKEN = 4_096;

/**
 * Value of the `Authorization` header for the value of a Secret: `user:password`, a value with its scheme, or else a
 * token. All git servers accept it as a bearer token, except Azure DevOps, which accepts it as a password. Undefined for
 * other values.
 */
export function authorizationFor(secret: string, provider: StatusProvider): string | undefined {
  const value = secret.trim();
  if (value.length > MAX_TOKEN || !/^[\x21-\x7e]+( [\x21-\x7e]+)?$/.test(value)) return undefined;
  if (/^(bearer|basic|token) /i.test(value)) return value;
  if (value.includes(' ')) return undefined;
  const credentials = provider === 'azuredevops' && !value.includes(':') ? `:${value}` : value;
  return credentials.includes(':') ? `Basic ${Buffer.from(credentials).toString('base64')}` : `Bearer ${value}`;
}

/** A response of a server; its message is never repeated. */
export interface StatusAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Uint8Array;
}

/** Returns the problem of a response; undefined if the status was accepted. `now` is in ms since the epoch. */
export function judgeAnswer(
  { provider, context }: Destination,
  { status, headers, body }: StatusAnswer,
  now: number,
): TransientError | TerminalError | undefined {
  if (provider === 'azuredevops' && SIGN_IN.includes(status)) return tokenRefused(status);
  if (status >= 200 && status < 300) return undefined;
  // GitLab refuses an unchanged status.
  if (provider === 'gitlab' && status === 400 && new TextDecoder().decode(body).includes('Cannot transition status'))
    return undefined;
  const retryAfterMs = pauseMs(headers, now);
  const transient = (message: string, reason: 'GitRateLimited' | 'GitUnreachable') =>
    new TransientError(message, { code: 'commitStatus.unavailable', reason, retryAfterMs });
  if (isTooOften(status, retryAfterMs))
    return transient(
      `${HOST} is rate limiting requests (${status}); ${retryingAt(retryAfterMs, now)}`,
      'GitRateLimited',
    );
  if (status >= 500 || status === 408 || status === 409)
    return transient(`${HOST} returned ${status}; ${retryingAt(retryAfterMs, now)}`, 'GitUnreachable');
  if (status === 401) return tokenRefused(status);
  if (status === 403 || status === 404)
    return terminal(
      `${HOST} returned ${status}; check that the token has permission to write commit statuses of the repository${RIGHTS[provider] ?? ''}, and check spec.git.commitStatus.provider`,
      'CommitStatusRefused',
    );
  if (status >= 300 && status < 400)
    return terminal(
      `${HOST} redirects the request, and the token isn't sent to other addresses; set spec.git.commitStatus.url to the final URL`,
      'UnexpectedRedirect',
    );
  return terminal(`${HOST} returned ${status} for the status ${context}`, 'CommitStatusRefused');
}

const HOST = 'the API of the git server';

/** Azure DevOps responds with its sign-in page to a token that it doesn't know. */
const SIGN_IN = [203, 302];

const tokenRefused = (status: number) =>
  terminal(
    `${HOST} refused the token (${status}); check the Secret in spec.git.commitStatus.secretRef, or the GitHub App`,
    'AuthenticationFailed',
  );

/** Permissions that are often missing. */
const RIGHTS: Partial<Record<StatusProvider, string>> = {
  gitlab: ' (for a protected branch, GitLab requires the role Maintainer, or one that can push or merge there)',
  azuredevops: ' (the scope Code: Status)',
};

const terminal = (message: string, reason: 'AuthenticationFailed' | 'CommitStatusRefused' | 'UnexpectedRedirect') =>
  new TerminalError(message, { code: 'commitStatus.refused', reason });
