import { withoutTrailingSlashes } from '../files/relative-path.ts';
import { parseRepository } from './repository.ts';

/** URL of the API of github.com. */
const GITHUB_API = 'https://api.github.com';

/**
 * The API of a host of GitHub; undefined for a GitHub Enterprise Server, whose name isn't known, and for other git servers;
 * https://docs.github.com/en/enterprise-cloud@latest/rest/using-the-rest-api/getting-started-with-the-rest-api.
 */
export function githubApiOf(host: string): string | undefined {
  if (host === 'github.com' || host === 'ssh.github.com') return GITHUB_API;
  return /^(?!api\.)[a-z0-9-]+\.ghe\.com$/.test(host) ? `https://api.${host}` : undefined;
}

/** The part of `spec.git` that determines the API of a GitHub App. */
interface AppOwner {
  repo: string;
  auth?: { githubApp?: { apiBaseURL?: string | undefined } | undefined } | undefined;
}

/** The API that issues the tokens of a GitHub App, without a trailing slash; undefined if it's unknown or invalid. */
export function appApiOf({ repo, auth }: AppOwner): string | undefined {
  const given = auth?.githubApp?.apiBaseURL ?? githubApiOf(parseRepository(repo)?.host ?? '');
  return given !== undefined && isPlainUrl(given) ? withoutTrailingSlashes(given) : undefined;
}

/** Whether an address is a URL without credentials, a query, or a fragment. The API server checks that it is https. */
export function isPlainUrl(url: string): boolean {
  if (!URL.canParse(url) || /[?#]/.test(url)) return false;
  const { username, password } = new URL(url);
  return `${username}${password}` === '';
}
