import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import * as v from 'valibot';
import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { appApiOf } from '../../shared/domain/git/github-api.ts';
import { inUrl, parseRepository, repositoryPathOf } from '../../shared/domain/git/repository.ts';
import { isTooOften, pauseMs, retryingAt } from '../../shared/domain/text/duration.ts';
import { ANSWER_BOUNDS, readJson } from '../../shared/domain/text/read-json.ts';
import { isTyped, TerminalError, TransientError, withMessage } from '../../shared/errors.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { readAppKey } from './app-key.ts';
import type { GitHttp, JsonAnswer } from './git-http.ts';
import { readSecret } from './read-secret.ts';

/** A token for one repository, valid until `expiresAt` (ms since the epoch). */
export interface InstallationToken {
  token: string;
  expiresAt: number;
  /** Identifies the installation, for which GitHub counts the requests with all of its tokens. */
  account: string;
}

/** A request that was sent, and the token that it returned. */
interface SentRequest {
  answer: Promise<InstallationToken>;
  token?: InstallationToken;
}

/** The App and the repository of a token. */
export interface TokenRequest {
  namespace: string;
  git: Pick<GatewaySyncSpec['git'], 'repo' | 'auth' | 'caSecretRef'>;
  /** Write permission besides reading the repository; tokens for agents never have one. */
  mayWrite?: 'statuses';
}

/** GitHub's tokens expire after an hour, and are renewed this long before that (ms). */
export const RENEW_BEFORE_MS = 10 * 60_000;
/** Maximum lifetime of a token, regardless of the response (ms). */
const MAX_LIFETIME_MS = 60 * 60_000;
const TIMEOUT_MS = 15_000;
/** GitHub's tokens have some hundred characters. */
const MAX_TOKEN_LENGTH = 4_096;
/** Validity of a JWT (seconds); GitHub allows ten minutes, and clocks differ. */
const JWT_SECONDS = { before: 60, after: 480 };

/**
 * Installation tokens of GitHub Apps, requested once and kept until shortly before they expire;
 * https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app.
 */
export class GithubApps {
  readonly #client: KubernetesClient;
  readonly #http: Pick<GitHttp, 'postJson'>;
  readonly #requests = new Map<string, SentRequest>();

  constructor(client: KubernetesClient, http: Pick<GitHttp, 'postJson'>) {
    this.#client = client;
    this.#http = http;
  }

  /** The current token, if it is valid for at least ten more minutes. */
  known(request: TokenRequest): InstallationToken | undefined {
    const token = this.#requests.get(tokenKeyOf(request))?.token;
    return token && isGood(token) ? token : undefined;
  }

  /** Returns a token that is valid for at least ten more minutes. Concurrent calls share one request. */
  async token(request: TokenRequest): Promise<InstallationToken> {
    const key = tokenKeyOf(request);
    const before = this.#requests.get(key);
    if (before && (!before.token || isGood(before.token))) return await before.answer;
    for (const [other, { token }] of this.#requests)
      if (token && token.expiresAt < Date.now()) this.#requests.delete(other);
    const sent: SentRequest = { answer: this.#create(request) };
    this.#requests.set(key, sent);
    try {
      sent.token = await sent.answer;
      return sent.token;
    } catch (error) {
      if (this.#requests.get(key) === sent) this.#requests.delete(key);
      throw error;
    }
  }

  /** Drops a token that the host refused, or that no resource needs. The next call requests another one. */
  forget(request: TokenRequest): void {
    this.#requests.delete(tokenKeyOf(request));
  }

  async #create({ namespace, git, mayWrite }: TokenRequest): Promise<InstallationToken> {
    const app = git.auth?.githubApp;
    if (!app) throw new Error('the resource has no GitHub App');
    const api = appApiOf(git);
    if (api === undefined) throw apiUnknown(git.repo);
    const repositories = repositoriesOf(git, mayWrite);
    if (!repositories) throw noRepository();
    const pem = await readSecret(this.#client, namespace, app.privateKeySecretRef);
    const ca = git.caSecretRef && (await readSecret(this.#client, namespace, git.caSecretRef));
    const account = accountOf(api, app, pem);
    const permissions = mayWrite ? { [mayWrite]: 'write' } : { contents: 'read' };
    const url = new URL(`${api}/app/installations/${app.installationId}/access_tokens`);
    const options = {
      authorization: `Bearer ${await signJwt(app.appId, pem)}`,
      account: `app ${account}`,
      ca,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    };
    const answer = await this.#http.postJson(url, { repositories, permissions }, options).catch((error: unknown) => {
      throw aboutApi(error, api);
    });
    const permission = mayWrite ? `${mayWrite}: write` : 'contents: read';
    return { ...readToken(answer, { api, repositories, permission }), account };
  }
}

type App = NonNullable<NonNullable<TokenRequest['git']['auth']>['githubApp']>;

/** GitHub counts per installation. The key is included, so that clients without it can't delay others. */
const accountOf = (api: string, app: App, pem: string): string =>
  JSON.stringify([api, app.appId, app.installationId, createHash('sha256').update(pem).digest('base64')]);

const isGood = ({ expiresAt }: InstallationToken) => Date.now() < expiresAt - RENEW_BEFORE_MS;

/** The host that issues the tokens; empty if it's unknown. */
export function tokenHostOf({ git }: TokenRequest): string {
  const api = appApiOf(git);
  return api === undefined ? '' : new URL(api).hostname;
}

/** Identifies a token that resources with the same key share. */
export function tokenKeyOf({ namespace, git, mayWrite }: TokenRequest): string {
  const { repo, auth, caSecretRef } = git;
  const { appId, installationId, privateKeySecretRef } = auth?.githubApp ?? {};
  const app = [appId, installationId, privateKeySecretRef];
  // Without an API or a name, each spelling of the URL gets its own error.
  const repository = [appApiOf(git) ?? repo, repositoriesOf(git, mayWrite) ?? repo];
  return JSON.stringify([namespace, repository, app, caSecretRef, mayWrite]);
}

/** Names of the repositories that a token is for. A token that may write is for the repository itself only. */
function repositoriesOf({ repo, auth }: TokenRequest['git'], mayWrite: TokenRequest['mayWrite']): string[] | undefined {
  const name = parseRepository(repo) && repositoryPathOf(repo)?.at(-1);
  if (name === undefined) return undefined;
  const others = mayWrite ? [] : (auth?.githubApp?.repositories ?? []);
  return [...new Set([name, ...others.toSorted()])];
}

/** What a token was requested for. */
interface Requested {
  api: string;
  repositories: string[];
  permission: string;
}

function readToken({ status, headers, body }: JsonAnswer, requested: Requested): Omit<InstallationToken, 'account'> {
  const retryAfterMs = pauseMs(headers, Date.now());
  const message = `GitHub (${requested.api}) returned ${status} to a request for a token; ${retryingAt(retryAfterMs, Date.now())}`;
  if (isTooOften(status, retryAfterMs))
    throw new TransientError(message, { code: 'githubApp.rateLimited', reason: 'GitRateLimited', retryAfterMs });
  if (status >= 500)
    throw new TransientError(message, { code: 'githubApp.unavailable', reason: 'GitUnreachable', retryAfterMs });
  if (status !== 201) throw refused(`GitHub returned ${status}`, requested);
  const answer = readJson(tokenAnswer, body, ANSWER_BOUNDS);
  if (!answer) throw refused('the response contains no token', requested);
  const { token, expires_at: expiresAt } = answer;
  return { token, expiresAt: Math.min(Date.parse(expiresAt), Date.now() + MAX_LIFETIME_MS) };
}

const tokenAnswer = v.object({
  token: v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_TOKEN_LENGTH)),
  expires_at: v.pipe(
    v.string(),
    v.check((text) => !Number.isNaN(Date.parse(text))),
  ),
});

/** Signs with RS256, which GitHub requires. */
async function signJwt(appId: number, pem: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const read = readAppKey(pem);
  if (read.kind === 'problem') throw unusableKey(read.problem);
  const jwt = new SignJWT()
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(String(appId))
    .setIssuedAt(now - JWT_SECONDS.before)
    .setExpirationTime(now + JWT_SECONDS.after);
  try {
    return await jwt.sign(read.key);
  } catch (cause) {
    throw unusableKey("can't be used to sign; generate another one on GitHub", cause);
  }
}

/** For resources with a GitHub App in an installation that has none enabled. */
export const githubAppDisabled = () =>
  new TerminalError("GitHub Apps aren't enabled; set the chart value githubApp.enabled, or use a token", {
    code: 'githubApp.disabled',
    reason: 'GitHubAppNotEnabled',
  });

const refused = (what: string, { api, repositories, permission }: Requested) =>
  new TerminalError(
    `no token for the GitHub App from ${api}: ${what}; check appId, installationId, privateKeySecretRef, and apiBaseURL, and that the App is installed on ${repositories.join(', ')} with ${permission}`,
    { code: 'githubApp.refused', reason: 'AuthenticationFailed' },
  );

const unusableKey = (problem: string, cause?: unknown) =>
  new TerminalError(`the private key of the GitHub App ${problem}; check the Secret in privateKeySecretRef`, {
    code: 'githubApp.privateKey',
    reason: 'AuthenticationFailed',
    cause,
  });

function apiUnknown(repo: string): TerminalError {
  const host = parseRepository(repo)?.host ?? '';
  return new TerminalError(
    `the API of GitHub for ${host} is unknown; for a GitHub Enterprise Server, set spec.git.auth.githubApp.apiBaseURL, for example https://${inUrl(host)}/api/v3, without credentials, ?, and #; for another git server, use spec.git.auth.token`,
    { code: 'githubApp.apiUnknown', reason: 'GitHubAPIUnknown' },
  );
}

const noRepository = () =>
  new TerminalError(
    "spec.git.repo doesn't end with the name of a repository, which a GitHub App requires; correct it",
    {
      code: 'githubApp.noRepository',
      reason: 'InvalidRepository',
    },
  );

/** Replaces the fields of the repository, because the request was for the API. */
function aboutApi(error: unknown, api: string): unknown {
  if (!isTyped(error)) return error;
  const message = `no token for the GitHub App from ${api}: ${error.message.replaceAll('spec.git.repo', 'apiBaseURL')}`;
  return withMessage(error, message);
}
