import { environmentOf, expandAll, type Setting } from './environment.ts';
import type { Container } from './manifest.ts';

/** Options of git-sync in a container. */
export interface GitSyncOptions {
  /** Major version: options, variables, and defaults differ. */
  version: 3 | 4;
  isVersionKnown: boolean;
  settings: Map<string, Setting>;
  /** Options and variables of the other version, which this one ignores or rejects. */
  foreign: string[];
  /** Unknown options and variables. */
  unknown: string[];
  /** Variables for git and ssh themselves, by name. */
  environment: Map<string, Setting>;
}

interface Option {
  /** The value is optional. */
  isFlag?: true;
  /** Repeatable in version 4; values are joined with this separator, as in its variable. */
  joinedBy?: string;
  /** Variables of version 3. Default: GIT_SYNC_ and the name. Null: none, or unknown option. */
  v3?: readonly string[] | null;
  /** Variables of version 4; the first one wins. Default: GITSYNC_ and GIT_SYNC_ with the name. */
  v4?: readonly string[] | null;
}

/** Options by name, from main.go in https://github.com/kubernetes/git-sync of 3.6, 4.7, and the main branch of 2026. */
const OPTIONS: Record<string, Option> = {
  repo: {},
  ref: { v3: null, v4: ['GITSYNC_REF'] },
  branch: { v4: ['GIT_SYNC_BRANCH'] },
  rev: { v4: ['GIT_SYNC_REV'] },
  depth: {},
  filter: { v3: null, v4: ['GITSYNC_FILTER'] },
  submodules: {},
  'sparse-checkout-file': {},
  root: {},
  link: { v3: null },
  dest: { v4: ['GIT_SYNC_DEST'] },
  'error-file': {},
  period: { v3: null },
  'init-period': { v3: null, v4: ['GITSYNC_INIT_PERIOD'] },
  wait: { v4: ['GIT_SYNC_WAIT'] },
  'sync-timeout': { v3: null },
  timeout: { v4: ['GIT_SYNC_TIMEOUT'] },
  'one-time': { isFlag: true },
  'sync-on-signal': { v3: null },
  'max-failures': { v3: null },
  'init-max-failures': { v3: null, v4: ['GITSYNC_INIT_MAX_FAILURES'] },
  'max-sync-failures': { v4: ['GIT_SYNC_MAX_SYNC_FAILURES'] },
  'touch-file': { v3: null },
  'add-user': { isFlag: true },
  'group-write': { isFlag: true, v3: null },
  'change-permissions': { v3: ['GIT_SYNC_PERMISSIONS'], v4: ['GIT_SYNC_PERMISSIONS'] },
  'stale-worktree-timeout': { v3: null, v4: ['GITSYNC_STALE_WORKTREE_TIMEOUT'] },
  'exechook-command': {},
  'exechook-timeout': {},
  'exechook-backoff': {},
  'pre-publish-exechook-command': { v3: null, v4: ['GITSYNC_PRE_PUBLISH_EXECHOOK_COMMAND'] },
  'pre-publish-exechook-timeout': { v3: null, v4: ['GITSYNC_PRE_PUBLISH_EXECHOOK_TIMEOUT'] },
  'pre-publish-exechook-backoff': { v3: null, v4: ['GITSYNC_PRE_PUBLISH_EXECHOOK_BACKOFF'] },
  'sync-hook-command': { v3: ['GIT_SYNC_HOOK_COMMAND'], v4: ['GIT_SYNC_HOOK_COMMAND'] },
  'hooks-async': { isFlag: true, v3: null },
  'hooks-before-symlink': { isFlag: true, v3: null },
  'webhook-url': {},
  'webhook-method': {},
  'webhook-success-status': {},
  'webhook-timeout': {},
  'webhook-backoff': {},
  username: {},
  password: {},
  'password-file': {},
  credential: { v3: null, joinedBy: '\n' },
  ssh: { isFlag: true },
  'ssh-key-file': {
    joinedBy: ':',
    v3: ['GIT_SSH_KEY_FILE'],
    v4: ['GITSYNC_SSH_KEY_FILE', 'GIT_SYNC_SSH_KEY_FILE', 'GIT_SSH_KEY_FILE'],
  },
  'ssh-known-hosts': {
    isFlag: true,
    v3: ['GIT_KNOWN_HOSTS'],
    v4: ['GITSYNC_SSH_KNOWN_HOSTS', 'GIT_SYNC_KNOWN_HOSTS', 'GIT_KNOWN_HOSTS'],
  },
  'ssh-known-hosts-file': {
    v3: ['GIT_SSH_KNOWN_HOSTS_FILE'],
    v4: ['GITSYNC_SSH_KNOWN_HOSTS_FILE', 'GIT_SYNC_SSH_KNOWN_HOSTS_FILE', 'GIT_SSH_KNOWN_HOSTS_FILE'],
  },
  'cookie-file': {
    isFlag: true,
    v3: ['GIT_COOKIE_FILE'],
    v4: ['GITSYNC_COOKIE_FILE', 'GIT_SYNC_COOKIE_FILE', 'GIT_COOKIE_FILE'],
  },
  'askpass-url': {
    v3: ['GIT_ASKPASS_URL'],
    v4: ['GITSYNC_ASKPASS_URL', 'GIT_SYNC_ASKPASS_URL', 'GIT_ASKPASS_URL'],
  },
  'github-base-url': { v3: null, v4: ['GITSYNC_GITHUB_BASE_URL'] },
  'github-app-private-key': { v3: null, v4: ['GITSYNC_GITHUB_APP_PRIVATE_KEY'] },
  'github-app-private-key-file': { v3: null, v4: ['GITSYNC_GITHUB_APP_PRIVATE_KEY_FILE'] },
  'github-app-client-id': { v3: null, v4: ['GITSYNC_GITHUB_APP_CLIENT_ID'] },
  'github-app-application-id': { v3: null, v4: ['GITSYNC_GITHUB_APP_APPLICATION_ID'] },
  'github-app-installation-id': { v3: null, v4: ['GITSYNC_GITHUB_APP_INSTALLATION_ID'] },
  git: {},
  'git-config': {},
  'git-config-add': { v3: null, v4: ['GITSYNC_GIT_CONFIG_ADD'], joinedBy: '\n' },
  'git-gc': {},
  'http-bind': {},
  'http-metrics': { isFlag: true },
  'http-pprof': { isFlag: true },
  version: { isFlag: true, v3: null, v4: null },
  help: { isFlag: true, v3: null, v4: null },
  man: { isFlag: true, v3: null, v4: null },
  verbose: { v3: null, v4: ['GITSYNC_VERBOSE'] },
  v: { v3: null, v4: null },
  logtostderr: { isFlag: true, v3: null, v4: null },
  alsologtostderr: { isFlag: true, v3: null, v4: null },
};

/** Options of version 3 without a variable. */
const ONLY_FLAGS = new Set(['v', 'logtostderr', 'alsologtostderr']);

function variablesOf(name: string, version: 3 | 4): readonly string[] {
  const { v3, v4 } = OPTIONS[name] ?? {};
  const upper = name.toUpperCase().replaceAll('-', '_');
  if (version === 3) return v3 ?? (v3 === null ? [] : [`GIT_SYNC_${upper}`]);
  return v4 ?? (v4 === null ? [] : [`GITSYNC_${upper}`, `GIT_SYNC_${upper}`]);
}

const isOption = (name: string, version: 3 | 4): boolean =>
  name in OPTIONS && (version === 4 || OPTIONS[name]?.v3 !== null || ONLY_FLAGS.has(name));

function namesIn(version: 3 | 4): string[] {
  const names = Object.keys(OPTIONS).filter((name) => isOption(name, version));
  return names.flatMap((name) => [`--${name}`, ...variablesOf(name, version)]);
}

/** Options and variables of the other version. */
const KNOWN_ELSEWHERE = { 3: new Set(namesIn(4)), 4: new Set(namesIn(3)) };

/** Includes old images such as git-sync-amd64. */
const IMAGE = /(?:^|\/)git-sync(?:-[a-z0-9]+)?(?=[:@]|$)/;

/** Checks whether a container runs git-sync, by its image. */
export const isGitSync = ({ image = '' }: Container): boolean => IMAGE.test(image);

/** Reads the options of git-sync; a command-line option overrides a variable. */
export function readOptions(container: Container): GitSyncOptions | { kind: 'unreadable'; why: string } {
  const [, major] = /:v?(\d+)(?:[.\-@]|$)/.exec(container.image ?? '') ?? [];
  const version = major !== undefined && Number(major) < 4 ? 3 : 4;
  const environment = environmentOf(container);
  const words = wordsOf(container, environment);
  if (typeof words === 'string') return { kind: 'unreadable', why: words };
  const settings = new Map<string, Setting>();
  const used = new Set<string>();
  for (const name of Object.keys(OPTIONS)) {
    const variables = variablesOf(name, version).filter((each) => isSet(environment.get(each)));
    for (const variable of variables) used.add(variable);
    const first = environment.get(variables[0] ?? '');
    if (first) settings.set(name, first);
  }
  const unused = readWords(words, { version, settings });
  const others = [...environment].filter(([name]) => !used.has(name));
  const isOurs = (name: string) => /^GIT_?SYNC_/.test(name);
  const unread = [...unused, ...others.map(([name]) => name).filter(isOurs)];
  const isForeign = (name: string) => KNOWN_ELSEWHERE[version].has(name);
  return {
    version,
    isVersionKnown: major !== undefined,
    settings,
    foreign: unread.filter(isForeign),
    unknown: unread.filter((name) => !isForeign(name)),
    environment: new Map(others.filter(([name]) => !isOurs(name))),
  };
}

/** git-sync treats an empty variable as unset. */
const isSet = (setting: Setting | undefined): boolean =>
  setting !== undefined && !(setting.kind === 'value' && setting.value === '');

/** Returns the words of the command line without the program, or a string with the reason why it is unreadable. */
function wordsOf({ command, args }: Container, environment: ReadonlyMap<string, Setting>): string[] | string {
  const [program = '', ...rest] = command ?? [];
  if (/(^|\/)(ba|da|a)?sh$/.test(program)) return 'it is started by a shell script';
  const words: string[] = [];
  for (const word of [...rest, ...(args ?? [])]) {
    // The kubelet expands $(NAME), and replaces $$ with $.
    const missing = [...word.matchAll(/(\$+)\(([^)]+)\)/g)].find(
      ([, dollars = '', name = '']) => dollars.length % 2 === 1 && environment.get(name)?.kind !== 'value',
    );
    if (missing) return `its arguments contain ${missing[0]}, and its value is not in the manifest`;
    words.push(expandAll(word, environment));
  }
  return words;
}

/** Version 3 also accepts options with one hyphen. */
const WORD = { 3: /^--?([a-z_][\w-]*)(?:=([\s\S]*))?$/, 4: /^(?:--([a-z][\w-]*)|-(v))(?:=?([\s\S]*))?$/ };

function readWords(
  words: readonly string[],
  { version, settings }: { version: 3 | 4; settings: Map<string, Setting> },
): string[] {
  const unknown: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    const parts = WORD[version].exec(word);
    const name = parts?.[1] ?? (version === 4 ? parts?.[2] : undefined);
    let value = (version === 4 ? parts?.[3] : parts?.[2]) || undefined;
    if (name === undefined || !isOption(name, version)) {
      // The rest may contain a secret.
      unknown.push(name === undefined ? 'a word that is not an option' : `--${name}`);
      continue;
    }
    if (value === undefined && !word.includes('=')) value = OPTIONS[name]?.isFlag ? 'true' : words[++index];
    settings.set(name, { by: `--${name}`, kind: 'value', value: joined(name, value ?? '', { version, settings }) });
  }
  return unknown;
}

/** Joins the values of a repeated option. The first one replaces a variable. */
function joined(
  name: string,
  value: string,
  { version, settings }: { version: 3 | 4; settings: ReadonlyMap<string, Setting> },
): string {
  const separator = OPTIONS[name]?.joinedBy;
  const earlier = settings.get(name);
  const isRepeated = version === 4 && earlier?.kind === 'value' && earlier.by === `--${name}`;
  return separator !== undefined && isRepeated ? `${earlier.value}${separator}${value}` : value;
}

/** Returns the value of an option, if it's in the manifest. */
export function textOf(settings: GitSyncOptions['settings'], name: string): string | undefined {
  const setting = settings.get(name);
  return setting?.kind === 'value' ? setting.value : undefined;
}

/** Default root directories of the git-sync images. */
const ROOTS = { 3: '/tmp/git', 4: '/git' };

/** Resolves a path relative to git-sync's root. */
export const pathFromRoot = ({ version, settings }: GitSyncOptions, file: string): string =>
  file.startsWith('/') ? file : `${textOf(settings, 'root') || ROOTS[version]}/${file}`;
