import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import * as v from 'valibot';
import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { isTooOften, pauseMs, retryingAt } from '../../shared/domain/duration.ts';
import { ANSWER_BOUNDS, readJson } from '../../shared/domain/read-json.ts';
import { withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';
import { messageOf, TerminalError, TransientError } from '../../shared/errors.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { GitHttp, JsonAnswer } from './git-http.ts';
import { readSecret } from './read-secret.ts';

/** A token for one repository, valid until `expiresAt` (ms since the epoch). */
export interface InstallationToken {
  token: string;
  expiresAt: number;
  /** Identifies the installation, for which GitHub counts the requests with all of its tokens. */
  account: string;
}

/** The App and the repository of a token. */
export interface TokenRequest {
  namespace: string;
  git: Pick<GatewaySyncSpec['git'], 'repo' | 'auth' | 'caSecretRef'>;
  /** Write permission besides reading the repository; tokens for agents never have one. */
  mayWrite?: 'statuses';
}

const DEFAULT_API = 'https://api.github.com';
/** GitHub's tokens expire after an hour, and are renewed this long before that (ms). */
export const RENEW_BEFORE_MS = 10 * 60_000;
/** Maximum lifetime of a token, regardless of the response (ms). */
const MAX_LIFETIME_MS = 60 * 60_000;
const TIMEOUT_MS = 15_000;
/** GitHub's tokens have some hundred characters. */
const MAX_TOKEN_LENGTH = 4_096;
/** Validity of a JWT (seconds); GitHub allows ten minutes, and clocks differ. */
const JWT_SECONDS = { before: 60, after: 480 };

/** GitHub makes keys of 2,048 bits, with 1,700 characters. */
const MAX_KEY = { bits: 8_192, characters: 16 * 1024 };

/**
 * Installation tokens of GitHub Apps, requested once and kept until shortly before they expire;
 * https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app.
 */
export class GithubApps {
  readonly #client: KubernetesClient;
  readonly #http: Pick<GitHttp, 'postJson'>;
  readonly #tokens = new Map<string, InstallationToken>();
  readonly #pending = new Map<string, Promise<InstallationToken>>();

  constructor(client: KubernetesClient, http: Pick<GitHttp, 'postJson'>) {
    this.#client = client;
    this.#http = http;
  }

  /** The current token, if it is valid for at least ten more minutes. */
  known(request: TokenRequest): InstallationToken | undefined {
    const token = this.#tokens.get(tokenKeyOf(request));
    return token && isGood(token) ? token : undefined;
  }

  /** Returns a token that is valid for at least ten more minutes. Concurrent calls share one request. */
  async token(request: TokenRequest): Promise<InstallationToken> {
    const known = this.known(request);
    if (known) return known;
    const key = tokenKeyOf(request);
    const pending = this.#pending.get(key) ?? this.#create(request);
    this.#pending.set(key, pending);
    const isCurrent = () => this.#pending.get(key) === pending;
    try {
      const token = await pending;
      if (isCurrent()) this.#store(key, token);
      return token;
    } finally {
      if (isCurrent()) this.#pending.delete(key);
    }
  }

  /** Drops a token that the host refused, or that no resource needs. The next call requests another one. */
  forget(request: TokenRequest): void {
    this.#tokens.delete(tokenKeyOf(request));
    this.#pending.delete(tokenKeyOf(request));
  }

  #store(key: string, token: InstallationToken): void {
    for (const [other, { expiresAt }] of this.#tokens) if (expiresAt < Date.now()) this.#tokens.delete(other);
    this.#tokens.set(key, token);
  }

  async #create({ namespace, git, mayWrite }: TokenRequest): Promise<InstallationToken> {
    const app = git.auth?.githubApp;
    if (!app) throw new Error('the resource has no GitHub App');
    const pem = await readSecret(this.#client, namespace, app.privateKeySecretRef);
    const ca = git.caSecretRef && (await readSecret(this.#client, namespace, git.caSecretRef));
    const account = accountOf(app, pem);
    const permissions = mayWrite ? { [mayWrite]: 'write' } : { contents: 'read' };
    const answer = await this.#http.postJson(
      new URL(`${apiOf(app)}/app/installations/${app.installationId}/access_tokens`),
      { repositories: [repositoryNameOf(git.repo)], permissions },
      {
        authorization: `Bearer ${await signJwt(app.appId, pem)}`,
        account: `app ${account}`,
        ca,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
    );
    return { ...readToken(answer, mayWrite ? `${mayWrite}: write` : 'contents: read'), account };
  }
}

type App = NonNullable<NonNullable<TokenRequest['git']['auth']>['githubApp']>;

/** GitHub counts per installation. The key is included, so that clients without it can't delay others. */
const accountOf = (app: App, pem: string): string =>
  JSON.stringify([apiOf(app), app.appId, app.installationId, createHash('sha256').update(pem).digest('base64')]);

const isGood = ({ expiresAt }: InstallationToken) => Date.now() < expiresAt - RENEW_BEFORE_MS;

const apiOf = ({ apiBaseURL }: { apiBaseURL?: string | undefined }) =>
  withoutTrailingSlashes(apiBaseURL ?? DEFAULT_API);

/** The host that issues the tokens. */
export function tokenHostOf({ git: { auth } }: TokenRequest): string {
  const api = apiOf(auth?.githubApp ?? {});
  return URL.canParse(api) ? new URL(api).hostname : '';
}

/** Identifies a token that resources with the same key share. */
export function tokenKeyOf({ namespace, git: { repo, auth, caSecretRef }, mayWrite }: TokenRequest): string {
  return JSON.stringify([namespace, repo, auth?.githubApp, caSecretRef, mayWrite]);
}

function readToken({ status, headers, body }: JsonAnswer, rights: string): Omit<InstallationToken, 'account'> {
  const retryAfterMs = pauseMs(headers, Date.now());
  const message = `GitHub returned ${status} to a request for a token; ${retryingAt(retryAfterMs, Date.now())}`;
  if (isTooOften(status, retryAfterMs))
    throw new TransientError(message, { code: 'githubApp.rateLimited', reason: 'GitRateLimited', retryAfterMs });
  if (status >= 500)
    throw new TransientError(message, { code: 'githubApp.unavailable', reason: 'GitUnreachable', retryAfterMs });
  if (status !== 201) throw refused(`GitHub returned ${status}`, rights);
  const answer = readJson(tokenAnswer, body, ANSWER_BOUNDS);
  if (!answer) throw refused('the response contains no token', rights);
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

/** Signs with RS256, which GitHub requires; keys are PKCS #1 or PKCS #8. */
async function signJwt(appId: number, pem: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  try {
    const pkcs8 = readKey(pem).export({ type: 'pkcs8', format: 'pem' }).toString();
    return await new SignJWT()
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(String(appId))
      .setIssuedAt(now - JWT_SECONDS.before)
      .setExpirationTime(now + JWT_SECONDS.after)
      .sign(await importPKCS8(pkcs8, 'RS256'));
  } catch (cause) {
    throw refused(`the private key is invalid (${messageOf(cause).slice(0, 80)})`);
  }
}

/** Reads a key that isn't too large, because signing blocks threads that the whole program shares. */
function readKey(pem: string): KeyObject {
  if (pem.length > MAX_KEY.characters) throw new Error(`it has more than ${MAX_KEY.characters} characters`);
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'rsa') throw new Error("it isn't an RSA key");
  const bits = key.asymmetricKeyDetails?.modulusLength ?? Number.POSITIVE_INFINITY;
  if (bits > MAX_KEY.bits) throw new Error(`it has ${bits} bits, at most ${MAX_KEY.bits} are allowed`);
  return key;
}

function repositoryNameOf(repo: string): string {
  return (
    new URL(repo).pathname
      .split('/')
      .at(-1)
      ?.replace(/\.git$/, '') ?? ''
  );
}

/** For resources with a GitHub App in an installation that has none enabled. */
export const githubAppDisabled = () =>
  new TerminalError("GitHub Apps aren't enabled; set the chart value githubApp.enabled, or use a token", {
    code: 'githubApp.disabled',
    reason: 'GitHubAppNotEnabled',
  });

const refused = (what: string, rights = 'contents: read') =>
  new TerminalError(
    `no token for the GitHub App: ${what}; check appId, installationId, privateKeySecretRef, and that the App is installed on the repository with ${rights}`,
    {
      code: 'githubApp.refused',
      reason: 'AuthenticationFailed',
    },
  );
