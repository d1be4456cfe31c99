import { parseRepository } from '../../shared/domain/repository.ts';
import { type GitSyncOptions, textOf } from './git-sync-options.ts';
import type { Container, PodSpec } from './manifest.ts';
import { type Found, isToken, SECRET_HELP } from './source.ts';

/** Why nothing of a manifest may be printed: a password is in it, and would be in what is printed as well. */
export function findPassword({ settings }: GitSyncOptions, container: Container): string | undefined {
  const isInline = (name: string) => {
    const value = textOf(settings, name) ?? '';
    return name === 'credential' ? /"password"\s*:/.test(value) : value !== '';
  };
  const option = ['password', 'github-app-private-key', 'credential'].find(isInline);
  const variable = findPasswordVariable(container);
  const where = variable ? `the variable ${variable.name}` : option && settings.get(option)?.by;
  return where && `${where} holds a password or a key: ${SECRET_HELP}`;
}

/** Also of those that this version of git-sync does not read: `GIT_PASSWORD`, `GITHUB_TOKEN` and the like. */
const findPasswordVariable = ({ env }: Container) =>
  env?.find(({ name, value }) => /^GIT[A-Z]*_(.*_)?(PASSWORD|TOKEN|PRIVATE_KEY|CREDENTIALS?)$/i.test(name) && value);

/** The same of a container that stays as it is, whose command line nobody can read: it would be printed with the rest. */
export function findLeak(container: Container): string | undefined {
  const isLeak = (text: string) => PASSWORDS.some((each) => each.test(text));
  return findPasswordVariable(container) || hasHeader(container) || textsOf(container).some(isLeak)
    ? `it holds a password or a key: ${SECRET_HELP}`
    : undefined;
}

/** Other containers that hold the password of a repository: they would be printed with the rest. */
export function findForeignLeaks(pod: PodSpec, found: readonly Found[]): Found[] {
  const repos = found.flatMap((each) => (each.kind === 'source' ? [each.git.repo] : []));
  const hosts = new Set(repos.map((repo) => parseRepository(repo)?.host));
  const containers = [...(pod.initContainers ?? []), ...pod.containers, ...(pod.ephemeralContainers ?? [])];
  return containers.flatMap((container): Found[] => {
    const why = foreignLeakOf(container, hosts);
    return why ? [{ kind: 'refused', title: `container ${container.name}`, why }] : [];
  });
}

function foreignLeakOf(container: Container, hosts: ReadonlySet<string | undefined>): string | undefined {
  const urls = textsOf(container).flatMap((text) => [...text.matchAll(USER_IN_URL)]);
  const isLeak = ([, user = '', password = '', host = '']: RegExpExecArray) =>
    hosts.has(host.toLowerCase()) && (isToken(user) || /^[^$]/.test(password));
  const variable = findPasswordVariable(container);
  const header = hasHeader(container) ? 'a header for git in it' : undefined;
  const where = variable ? `the variable ${variable.name}` : (header ?? (urls.some(isLeak) && 'a URL in it'));
  if (!where) return undefined;
  return `${where} holds a password of the repository: put it into a Secret, name that one in the manifest (valueFrom.secretKeyRef) and run this again`;
}

/** Whether git is to send a password by a header; one that begins with a dollar comes from a variable. */
function hasHeader(container: Container): boolean {
  const values = (container.env ?? []).flatMap(({ name, value }) => (/^GIT_CONFIG_/.test(name) ? (value ?? '') : []));
  return textsOf(container).some((text) => EXTRA_HEADER.test(text)) || values.some((text) => HEADER.test(text));
}

/** All texts of a container, those of a command line together; passwords of proxies are other ones. */
function textsOf({ command, args, env, ...others }: Container): string[] {
  const variables = (env ?? []).filter(({ name }) => !/_proxy$/i.test(name));
  return [[...(command ?? []), ...(args ?? [])].join(' '), ...stringsIn(variables), ...stringsIn(others)];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return [value.join(' ')];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const HEADER = /authorization:\s*(?:basic|bearer|token)\s+[^\s"'$]/i;
const EXTRA_HEADER = new RegExp(`extraheader["']?[=:\\s]\\s*["']?${HEADER.source}`, 'i');

const USER_IN_URL = /:\/\/([^\s/@:]*)(?::([^\s/@]*))?@([^\s/:?#]+)/g;

/** In a URL, or after an option; what begins with a dollar comes from a variable. */
const PASSWORDS = [
  /:\/\/[^\s/@:]*:[^\s/@$][^\s/@]*@/,
  /(^|\s)--?(password|credential|github-app-private-key)[=\s]["']?[^\s"'$]/,
];
