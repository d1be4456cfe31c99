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
  /** Only in version 4, with the variable GITSYNC_ and the name. */
  isNew?: true;
  /** Deprecated in version 4, which has the same variable as version 3. */
  isOld?: true;
  /** Variables of version 3. Default: GIT_SYNC_ and the name. Null: only in version 4. */
  v3?: readonly string[] | null;
  /** Variables of version 4; the first one wins. Default: GITSYNC_ and GIT_SYNC_ with the name, then those of `v3`. */
  v4?: readonly string[];
}

/** Options by name, from main.go in https://github.com/kubernetes/git-sync of 3.6, 4.7, and the main branch of 2026. */
const OPTIONS: Record<string, Option> = {
  repo: {},
  ref: { isNew: true },
  branch: { isOld: true },
  rev: { isOld: true },
  depth: {},
  filter: { isNew: true },
  submodules: {},
  'sparse-checkout-file': {},
  root: {},
  link: { v3: null },
  dest: { isOld: true },
  'error-file': {},
  period: { v3: null },
  'init-period': { isNew: true },
  wait: { isOld: true },
  'sync-timeout': { v3: null },
  timeout: { isOld: true },
  'one-time': { isFlag: true },
  'sync-on-signal': { v3: null },
  'max-failures': { v3: null },
  'init-max-failures': { isNew: true },
  'max-sync-failures': { isOld: true },
  'touch-file': { v3: null },
  'add-user': { isFlag: true },
  'group-write': { isFlag: true, v3: null },
  'change-permissions': { isOld: true, v3: ['GIT_SYNC_PERMISSIONS'] },
  'stale-worktree-timeout': { isNew: true },
  'exechook-command': {},
  'exechook-timeout': {},
  'exechook-backoff': {},
  'pre-publish-exechook-command': { isNew: true },
  'pre-publish-exechook-timeout': { isNew: true },
  'pre-publish-exechook-backoff': { isNew: true },
  'sync-hook-command': { isOld: true, v3: ['GIT_SYNC_HOOK_COMMAND'] },
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
  'ssh-key-file': { joinedBy: ':', v3: ['GIT_SSH_KEY_FILE'] },
  'ssh-known-hosts': {
    isFlag: true,
    v3: ['GIT_KNOWN_HOSTS'],
    v4: ['GITSYNC_SSH_KNOWN_HOSTS', 'GIT_SYNC_KNOWN_HOSTS', 'GIT_KNOWN_HOSTS'],
  },
  'ssh-known-hosts-file': { v3: ['GIT_SSH_KNOWN_HOSTS_FILE'] },
  'cookie-file': { isFlag: true, v3: ['GIT_COOKIE_FILE'] },
  'askpass-url': { v3: ['GIT_ASKPASS_URL'] },
  'github-base-url': { isNew: true },
  'github-app-private-key': { isNew: true },
  'github-app-private-key-file': { isNew: true },
  'github-app-client-id': { isNew: true },
  'github-app-application-id': { isNew: true },
  'github-app-installation-id': { isNew: true },
  git: {},
  'git-config': {},
  'git-config-add': { isNew: true, joinedBy: '\n' },
  'git-gc': {},
  'http-bind': {},
  'http-metrics': { isFlag: true },
  'http-pprof': { isFlag: true },
  version: { isFlag: true, v3: null, v4: [] },
  help: { isFlag: true, v3: null, v4: [] },
  man: { isFlag: true, v3: null, v4: [] },
  verbose: { isNew: true },
  v: { v3: [], v4: [] },
  logtostderr: { isFlag: true, v3: [], v4: [] },
  alsologtostderr: { isFlag: true, v3: [], v4: [] },
};

function variablesOf(name: string, version: 3 | 4): readonly string[] {
  const { isNew, isOld, v3, v4 } = OPTIONS[name] ?? {};
  const upper = name.toUpperCase().replaceAll('-', '_');
  if (version === 3 || isOld) return v3 ?? [`GIT_SYNC_${upper}`];
  return isNew ? [`GITSYNC_${upper}`] : (v4 ?? [`GITSYNC_${upper}`, `GIT_SYNC_${upper}`, ...(v3 ?? [])]);
}

function isOption(name: string, version: 3 | 4): boolean {
  const option = OPTIONS[name];
  return option !== undefined && (version === 4 || (option.v3 !== null && !option.isNew));
}

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
  for (const name of Object.keys(OPTIONS).filter((each) => isOption(each, version))) {
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
