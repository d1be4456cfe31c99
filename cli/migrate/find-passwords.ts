import { parseRepository } from '../../shared/domain/repository.ts';
import { type GitSyncOptions, isGitSync, textOf } from './git-sync-options.ts';
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

/** Also of those that this version of git-sync does not read. */
const findPasswordVariable = ({ env }: Container) =>
  env?.find(({ name, value }) => /^GIT_?SYNC_.*(PASSWORD|PRIVATE_KEY|CREDENTIAL)$/.test(name) && value);

/** The same of a container that stays as it is, whose command line nobody can read: it would be printed with the rest. */
export function findLeak(container: Container): string | undefined {
  return textsOf(container).some((text) => PASSWORDS.some((each) => each.test(text)))
    ? `it holds a password or a key: ${SECRET_HELP}`
    : undefined;
}

/** Other containers that hold the password of a repository: they would be printed with the rest. */
export function findForeignLeaks({ initContainers, containers }: PodSpec, found: readonly Found[]): Found[] {
  const repos = found.flatMap((each) => (each.kind === 'source' ? [each.git.repo] : []));
  const hosts = new Set(repos.map((repo) => parseRepository(repo)?.host));
  return [...(initContainers ?? []), ...containers].flatMap((container): Found[] => {
    const why = isGitSync(container) ? undefined : foreignLeakOf(container, hosts);
    return why ? [{ kind: 'refused', title: `container ${container.name}`, why }] : [];
  });
}

function foreignLeakOf(container: Container, hosts: ReadonlySet<string | undefined>): string | undefined {
  const urls = textsOf(container).flatMap((text) => [...text.matchAll(USER_IN_URL)]);
  const isLeak = ([, user = '', password = '', host = '']: RegExpExecArray) =>
    hosts.has(host.toLowerCase()) && (isToken(user) || /^[^$]/.test(password));
  const variable = findPasswordVariable(container);
  if (!variable && !urls.some(isLeak)) return undefined;
  const where = variable ? `the variable ${variable.name}` : 'a URL in it';
  return `${where} holds a password of the repository: put it into a Secret, name that one in the manifest (valueFrom.secretKeyRef) and run this again`;
}

function textsOf({ command, args, env }: Container): string[] {
  const variables = (env ?? []).filter(({ name }) => !/_proxy$/i.test(name));
  return [[...(command ?? []), ...(args ?? [])].join(' '), ...variables.map(({ value }) => value ?? '')];
}

const USER_IN_URL = /:\/\/([^\s/@:]*)(?::([^\s/@]*))?@([^\s/:?#]+)/g;

/** In a URL, or after an option; what begins with a dollar comes from a variable. */
const PASSWORDS = [
  /:\/\/[^\s/@:]*:[^\s/@$][^\s/@]*@/,
  /(^|\s)--?(password|credential|github-app-private-key)[=\s]["']?[^\s"'$]/,
];
