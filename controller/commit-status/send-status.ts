import type { StatusProvider } from '../../shared/api/git.ts';
import { isTyped, TerminalError, TransientError } from '../../shared/errors.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { GitHttp } from '../polling/git-http.ts';
import { type GithubApps, githubAppDisabled, type TokenRequest } from '../polling/github-app.ts';
import { readSecret } from '../polling/read-secret.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { judgeAnswer } from './judge-answer.ts';
import type { StatusPost } from './next-post.ts';
import { statusRequest } from './servers.ts';

export interface SendTools {
  client: KubernetesClient;
  http: GitHttp;
  /** Undefined if GitHub Apps aren't enabled. */
  githubApps: GithubApps | undefined;
  /** Time budget for a request started now (ms); 0 if this replica doesn't lead. */
  writeWithinMs: () => number;
}

/** Posts a commit status of a resource. Throws typed errors with messages for a condition. */
export type SendStatus = (gatewaySync: ObservedGatewaySync, post: StatusPost, signal: AbortSignal) => Promise<void>;

/** Timeout of one post (ms). */
const POST_MS = 15_000;

/** Sends statuses with the credentials of the resource, without following redirects. */
export function statusSender({ client, http, githubApps, writeWithinMs }: SendTools): SendStatus {
  async function authorize(
    { namespace, spec: { git } }: ObservedGatewaySync,
    provider: StatusProvider,
    app: TokenRequest,
  ) {
    const { secretRef } = git.commitStatus ?? {};
    if (secretRef) {
      const authorization = authorizationFor(await readSecret(client, namespace, secretRef), provider);
      if (authorization === undefined) throw invalidToken();
      return { authorization };
    }
    if (!githubApps) throw githubAppDisabled();
    const { token, account } = await githubApps.token(app);
    return { authorization: `Bearer ${token}`, account };
  }

  return async (gatewaySync, { destination, status }, signal) => {
    const { namespace, spec } = gatewaySync;
    const { caSecretRef } = spec.git;
    const app: TokenRequest = { namespace, git: spec.git, mayWrite: 'statuses' };
    const authorized = await authorize(gatewaySync, destination.provider, app);
    const ca = caSecretRef && (await readSecret(client, namespace, caSecretRef));
    const withinMs = Math.min(POST_MS, Math.floor(writeWithinMs()));
    if (withinMs <= 0 || signal.aborted) throw fenced();
    const { url, body } = statusRequest(destination, status);
    // After a process wakes up, requests that wait for a connection are sent before timers fire.
    const veto = () => (writeWithinMs() > 0 ? undefined : fenced());
    const options = { ...authorized, ca, signal: AbortSignal.any([signal, AbortSignal.timeout(withinMs)]), veto };
    const answer = await http.postJson(new URL(url), body, options).catch((error: unknown) => {
      throw isTyped(error) && error.reason === 'AddressDenied' ? addressDenied(error) : error;
    });
    const problem = judgeAnswer(destination, answer, Date.now());
    // A token can become invalid early, for example when the App's permissions change.
    if (problem?.reason === 'AuthenticationFailed') githubApps?.forget(app);
    if (problem) throw problem;
  };
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

const invalidToken = () =>
  new TerminalError(
    'the Secret in spec.git.commitStatus.secretRef contains no token; store it in one line, or as user:password',
    { code: 'commitStatus.token', reason: 'AuthenticationFailed' },
  );

const fenced = () =>
  new TransientError("this replica isn't the leader", { code: 'commitStatus.fenced', reason: 'CommitStatusFailed' });

const addressDenied = (cause: unknown) =>
  new TerminalError(
    'the API of the git server is at a denied address, such as a loopback or link-local one; see the chart values controller.git.deniedNetworks and controller.git.allowLocal',
    { code: 'commitStatus.deniedAddress', reason: 'AddressDenied', cause },
  );
