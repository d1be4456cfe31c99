import { parseRepository } from '../../shared/domain/git/repository.ts';
import { environmentOf } from './environment.ts';
import { type GitSyncOptions, textOf } from './git-sync-options.ts';
import type { Container, Pod } from './manifest.ts';
import { type Found, isToken, SECRET_HELP } from './source.ts';

/** Returns the reason why a manifest can't be printed: it contains a password, which the output would repeat. */
export function findPassword({ settings }: GitSyncOptions, container: Container): string | undefined {
  const isInline = (name: string) => {
    const value = textOf(settings, name) ?? '';
    return name === 'credential' ? PASSWORD_IN_JSON.test(value) : value !== '';
  };
  const option = ['password', 'github-app-private-key', 'credential'].find(isInline);
  const variable = findPasswordVariable(container);
  const where = variable ? `the variable ${variable.name}` : option && settings.get(option)?.by;
  return where && `${where} contains a password or a key: ${SECRET_HELP}`;
}

/** Includes variables that this version of git-sync ignores, such as `GIT_PASSWORD` and `GITHUB_TOKEN`. */
function findPasswordVariable(container: Container): { name: string } | undefined {
  const variables = environmentOf(container);
  return container.env?.find(({ name }) => {
    const variable = variables.get(name);
    const value = variable?.kind === 'value' ? variable.value.replace(UNKNOWN, '') : '';
    if (/^GIT_?SYNC_CREDENTIAL$/.test(name)) return PASSWORD_IN_JSON.test(value);
    return PASSWORD_NAMES.test(name) ? value !== '' : KEY_NAMES.test(name) && value.includes('PRIVATE KEY-----');
  });
}

/**
 * A password (not a file with it) in the JSON of `--credential`. Shell quoting may escape the quotes, and Go ignores
 * the case of a key.
 */
const PASSWORD_IN_JSON = /"password\\*"\s*:/i;

const PASSWORD_NAMES = /^(?:GIT[A-Z]*|GH)_(?:.*_)?(?:PASS(?:WORD|WD)?|TOKEN|PAT|PRIVATE_KEY|CREDENTIALS?)$/i;
const KEY_NAMES = /^(?:GIT|GH|SSH)/i;
/** A variable whose value is not in the manifest. */
const UNKNOWN = /\$\([^)]*\)/g;

/** Finds a password in an unchanged container, whose command line is unreadable: it would be printed with the rest. */
export function findLeak(container: Container): string | undefined {
  const isLeak = (text: string) => PASSWORDS.some((each) => each.test(text)) || usersIn(text).some(isTokenUser);
  return findPasswordVariable(container) || hasHeader(container) || textsOf(container).some(isLeak)
    ? `it contains a password or a key: ${SECRET_HELP}`
    : undefined;
}

/** Finds passwords of a repository elsewhere in the pod, which the output would repeat. */
export function findForeignLeaks({ metadata, spec }: Pod, found: readonly Found[]): Found[] {
  const repos = found.flatMap((each) => (each.kind === 'source' ? [each.git.repo] : []));
  const hosts = new Set(repos.map((repo) => parseRepository(repo)?.host));
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const others = { annotations: metadata?.annotations, volumes: spec.volumes };
  return [
    ...containers.map((container) => ({
      title: `container ${container.name}`,
      where: foreignLeakOf(container, hosts),
    })),
    ...Object.entries(others).map(([name, value]) => ({
      title: `its ${name}`,
      where: stringsIn(value).some((text) => hasPasswordFor(hosts, text)) && 'a URL in it',
    })),
  ].flatMap(({ title, where }): Found[] => (where ? [{ kind: 'refused', title, why: FOREIGN_WORDS(where) }] : []));
}

const FOREIGN_WORDS = (where: string) =>
  `${where} contains a password of the repository: store it in a Secret, specify this Secret in the manifest (valueFrom.secretKeyRef), and run this again`;

function foreignLeakOf(container: Container, hosts: ReadonlySet<string | undefined>): string | false {
  const variable = findPasswordVariable(container);
  if (variable) return `the variable ${variable.name}`;
  if (hasHeader(container)) return 'a git header';
  const texts = textsOf(container);
  if (texts.some((text) => NETRC.test(text))) return 'a .netrc file';
  return texts.some((text) => hasPasswordFor(hosts, text)) && 'a URL in it';
}

const hasPasswordFor = (hosts: ReadonlySet<string | undefined>, text: string): boolean =>
  usersIn(text).some((each) => hosts.has(each.host) && (isTokenUser(each) || /^[^$]/.test(each.password)));

const isTokenUser = ({ user }: { user: string }): boolean => isToken(user.replace(UNKNOWN, ''));

/** Returns user and password of URLs; the last at sign precedes the host. */
const usersIn = (text: string) =>
  [...text.matchAll(USER_IN_URL)].map(([, user = '', password = '', host = '']) => ({
    user,
    password,
    host: host.toLowerCase(),
  }));

/** Checks for a git header with a password; a value that starts with a dollar sign is a variable. */
function hasHeader(container: Container): boolean {
  const values = (container.env ?? []).flatMap(({ name, value }) => (/^GIT_CONFIG_/.test(name) ? (value ?? '') : []));
  return textsOf(container).some((text) => EXTRA_HEADER.test(text)) || values.some((text) => HEADER.test(text));
}

/** Returns all texts of a container, with the command line as one text. Passwords of proxies are excluded. */
function textsOf({ command, args, env, ...others }: Container): string[] {
  const variables = (env ?? []).filter(({ name }) => !/_proxy$/i.test(name));
  return [[...(command ?? []), ...(args ?? [])].join(' '), ...stringsIn(variables), ...stringsIn(others)];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return [value.join(' ')];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const HEADER = /(?:authorization:\s*(?:basic|bearer|token)\s+|(?:private|deploy|job)-token:\s*)[^\s"'$]/i;
const EXTRA_HEADER = new RegExp(`extraheader["']?[=:\\s]\\s*["']?${HEADER.source}`, 'i');

const NETRC = /\bmachine\s+\S+\s+login\s+\S+\s+password\s+["']?[^\s"'$]/i;

const USER_IN_URL = /:\/\/([^\s/@:]*)(?::([^\s/]*))?@([^\s/:?#@]+)/g;

/** In a URL, or after an option; a value that starts with a dollar sign is a variable. */
const PASSWORDS = [
  /:\/\/[^\s/@:]*:[^\s/@$][^\s/@]*@/,
  /(^|\s)--?(password|github-app-private-key)[=\s]["']?[^\s"'$]/,
  PASSWORD_IN_JSON,
];
