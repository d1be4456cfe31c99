import { formatDuration, parseDuration } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { findLeak, findPassword } from './find-passwords.ts';
import { READ_VARIABLES, readAuth } from './git-auth.ts';
import { type GitSyncOptions, pathFromRoot, readOptions, textOf } from './git-sync-options.ts';
import { readReload } from './hooks.ts';
import type { Container, PodSpec } from './manifest.ts';
import { mountOf, placeOf } from './pod-paths.ts';
import { type Found, Notes, nameFor, parseOctal, readMode, readTarget } from './source.ts';

/** Limits of spec.polling.interval and spec.git.timeout (ms). */
const SHORTEST_MS = 5_000;
const LONGEST_MS = 86_400_000;

/** Reads a container of git-sync: its repository, its volume, and the settings without a counterpart. */
export function readGitSync(container: Container, spec: PodSpec): Found {
  const title = `container ${container.name}`;
  const stays = (why: string): Found => {
    const leak = findLeak(container);
    return leak ? { kind: 'refused', title, why: leak } : { kind: 'stays', title, why };
  };
  const options = readOptions(container);
  if ('kind' in options) return stays(options.why);
  const password = findPassword(options, container);
  if (password) return { kind: 'refused', title, why: password };
  const { settings } = options;
  const elsewhere = [...settings].find(
    ([name, setting]) => setting.kind === 'elsewhere' || (setting.kind === 'secret' && !SECRETS.includes(name)),
  );
  if (elsewhere) return stays(`the value of ${elsewhere[1].by} is not in the manifest: add it`);
  const url = textOf(settings, 'repo');
  if (!url) return stays('its --repo is not in the manifest');
  const notes = new Notes();
  const target = readTarget(url, refOf(options), notes);
  if (target.kind !== 'target')
    return target.kind === 'stays' ? stays(target.why) : { title, ...target, kind: 'refused' };
  const { ref } = target;
  const auth = readAuth({ options, container, spec, repo: target.repo }, notes);
  if (auth.kind !== 'auth') return stays(auth.why);
  const { repo } = auth;
  const place = placeOf(container, linkOf(options, url));
  if (!place) return stays(whyNoPlace(container, linkOf(options, url)));
  const submodules = readSubmodules(options, notes);
  const timeout = readTimeout(options, notes);
  const interval = readPeriod(options, notes);
  const reload = readReload({ options, container, place }, notes);
  const mode = readPermissions(options, notes);
  noteRest(options, container, notes);
  return {
    kind: 'source',
    title,
    name: nameFor(repo),
    git: withoutUndefined({
      repo,
      ref,
      auth: auth.auth,
      caSecretRef: auth.caSecretRef,
      submodules: submodules || undefined,
      timeout,
    }),
    ...(interval && { polling: { interval } }),
    ...(reload && { gateway: reload }),
    groupWrite: isOn(settings, 'group-write'),
    hasLink: true,
    keepsLinks: true,
    ...(mode && { mode }),
    directory: '.',
    place,
    isOneTime: isOn(settings, 'one-time'),
    containers: [container.name],
    notes,
  };
}

/** Options whose value may come from a Secret. */
const SECRETS = ['username', 'password', 'github-app-private-key'];

const isOn = (settings: GitSyncOptions['settings'], name: string): boolean =>
  /^(true|t|1)$/i.test(textOf(settings, name) ?? '');

function refOf({ version, settings }: GitSyncOptions): string {
  const [ref, branch, rev] = ['ref', 'branch', 'rev'].map((name) => textOf(settings, name));
  if (rev && rev !== 'HEAD') return rev;
  return branch || ref || (version === 3 ? 'master' : 'HEAD');
}

/** Returns the path of the link that applications read. */
function linkOf(options: GitSyncOptions, url: string): string {
  const [link, dest] = ['link', 'dest'].map((name) => textOf(options.settings, name));
  return pathFromRoot(
    options,
    dest ||
      link ||
      url
        .replace(/^\/+|\/+$/g, '')
        .split('/')
        .at(-1) ||
      '',
  );
}

function whyNoPlace(container: Container, link: string): string {
  if (mountOf(container, link)?.subPathExpr)
    return `it mounts its volume with subPathExpr, so the directory of its link (${link}) is unknown: use subPath`;
  return `no volume is mounted at ${link}, the path of its link`;
}

function readSubmodules({ settings }: GitSyncOptions, notes: Notes): boolean {
  const mode = textOf(settings, 'submodules') || 'recursive';
  if (mode === 'shallow') notes.differs('--submodules=shallow: nested submodules are also fetched');
  if (mode === 'off')
    notes.differs('--submodules=off left an empty directory for a submodule: exclude it, because the agent rejects it');
  return mode !== 'off';
}

/** git-sync also changed directories. */
function readPermissions({ version, settings }: GitSyncOptions, notes: Notes): string | undefined {
  const permissions = textOf(settings, 'change-permissions') || '0';
  const bits = permissionBits(permissions, version);
  if (bits === 0) return undefined;
  const setting = `--change-permissions ${permissions}`;
  const mode = readMode(bits, setting, notes);
  if (mode !== undefined) notes.differs(`${setting}: mode in the mapping applies to files, and not to directories`);
  return mode;
}

/** Parses an integer of Go. Early releases of version 3 used the digits of a decimal one as octal digits. */
function permissionBits(text: string, version: GitSyncOptions['version']): number | undefined {
  if (text.startsWith('0')) return parseOctal(text);
  return version === 4 && /^\d+$/.test(text) ? Number(text) : undefined;
}

function readPeriod({ version, settings }: GitSyncOptions, notes: Notes): string | undefined {
  const seconds = Number(textOf(settings, 'wait') || Number.NaN);
  const period = textOf(settings, 'period');
  const ms = seconds > 0 || (version === 3 && seconds === 0) ? seconds * 1000 : parseDuration(period ?? '');
  if (ms === undefined) {
    const usual = version === 3 ? '1 s' : '10 s';
    const given = period || textOf(settings, 'wait');
    if (given) notes.differs(`its poll interval (${given}) is invalid: the operator polls every 60 s`);
    else if (!isOn(settings, 'one-time'))
      notes.differs(
        `git-sync polled every ${usual} by default, and the operator polls every 60 s: set up a webhook, or set spec.polling.interval`,
      );
    return undefined;
  }
  return inLimits(ms, (given) => notes.differs(`it polled every ${given}; spec.polling.interval is 5s to 24h`));
}

function readTimeout({ settings }: GitSyncOptions, notes: Notes): string | undefined {
  const seconds = Number(textOf(settings, 'timeout') || Number.NaN);
  const text = textOf(settings, 'sync-timeout');
  const ms = seconds > 0 ? seconds * 1000 : parseDuration(text ?? '');
  if (ms === undefined) {
    const given = text || textOf(settings, 'timeout');
    if (given) notes.dropped(`the timeout of a sync (${given}): spec.git.timeout is an hour by default`);
    return undefined;
  }
  return inLimits(ms, (given) => notes.differs(`the timeout of a sync was ${given}; spec.git.timeout is 5s to 24h`));
}

/** Returns a time within the limits, as a Go duration without zero parts. */
function inLimits(ms: number, onChange: (given: string) => void): string {
  const bounded = Math.min(Math.max(ms, SHORTEST_MS), LONGEST_MS);
  if (bounded !== ms) onChange(formatDuration(ms));
  return formatDuration(bounded).replace(/(?<=\D)0s$|(?<=h)0m/g, '');
}

/** Notes about options that are set. Other code handles options that aren't listed. */
const REST: Record<string, (notes: Notes, value: string) => void> = {
  depth: (notes) => notes.dropped('--depth: the agent fetches one commit, and the volume has no history'),
  filter: (notes) => notes.dropped('--filter: the agent fetches only the files that it needs'),
  'init-period': (notes) =>
    notes.dropped('--init-period: the agent retries a first sync within seconds, with growing delays'),
  'pre-publish-exechook-command': (notes, command) =>
    notes.todo(
      `--pre-publish-exechook-command ${command.trim().split(/\s/)[0]} has no counterpart: the agent does not run programs. Use checks in the profile for the syntax of JSON, YAML, and TOML, run the command in CI on the output of kubectl stoker check, or use spec.rollout and spec.gateway.verify to stop a bad commit on the first gateways`,
    ),
  'sparse-checkout-file': (notes, file) =>
    notes.todo(
      `--sparse-checkout-file ${file}: the whole repository is mapped now; map only the directories in this file, or exclude others in spec.sync`,
    ),
  'error-file': (notes, file) => notes.dropped(`--error-file ${file}: errors are in the SyncReport and in the status`),
  'sync-on-signal': (notes, signal) =>
    notes.dropped(`--sync-on-signal ${signal}: use kubectl stoker sync or a webhook`),
  'max-failures': (notes, count) => notes.dropped(maxFailuresText('max-failures', count)),
  'init-max-failures': (notes, count) => notes.dropped(maxFailuresText('init-max-failures', count)),
  'max-sync-failures': (notes, count) => notes.dropped(maxFailuresText('max-sync-failures', count)),
  'add-user': (notes) => notes.dropped('--add-user: the agent does not need an entry in /etc/passwd'),
  'stale-worktree-timeout': (notes) => notes.dropped('--stale-worktree-timeout: there are no worktrees'),
  git: (notes) => notes.dropped('--git: the image of the agent contains git'),
  'git-config': (notes) =>
    notes.todo('--git-config has no counterpart: check whether the repository needs these settings'),
  'git-config-add': (notes) =>
    notes.todo('--git-config-add has no counterpart: check whether the repository needs these settings'),
  'git-gc': (notes) => notes.dropped('--git-gc: the agent limits the size of its clone'),
  'http-bind': (notes) =>
    notes.dropped('--http-bind: the agent serves /healthz on its port sync-health, and metrics on sync-metrics'),
  'http-metrics': (notes) => notes.dropped('--http-metrics: the metrics of the agent have other names'),
  'http-pprof': (notes) => notes.dropped('--http-pprof has no counterpart'),
};

const maxFailuresText = (name: string, count: string): string =>
  `--${name} ${count}: the agent retries without a limit; maxFailures in spec.sync makes the pod unready instead`;

/** Parts of a container that are removed with it. */
const OWN_PARTS = [
  'resources',
  'securityContext',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'ports',
  'lifecycle',
];

function noteRest(
  { version, isVersionKnown, settings, foreign, unknown, environment }: GitSyncOptions,
  container: Container,
  notes: Notes,
): void {
  for (const [name, setting] of settings) {
    const value = setting.kind === 'value' ? setting.value : '';
    // No note for flags that are off, and for empty options.
    if (!/^(|false|f|0)$/i.test(value) || /failures|depth/.test(name)) REST[name]?.(notes, value);
  }
  if (!isVersionKnown) notes.todo(`its image has no version: it was converted as git-sync v${version}`);
  if (foreign.length > 0) notes.dropped(`not supported by git-sync v${version}: ${foreign.join(', ')}`);
  if (unknown.length > 0)
    notes.todo(`unknown to kubectl stoker migrate: ${unknown.join(', ')}; check the manual of git-sync`);
  const proxies = [...environment.keys()].filter((name) => /^(https?|all|no)_proxy$/i.test(name));
  if (proxies.length > 0)
    notes.todo(`${proxies.join(', ')}: agents use the proxy of the operator, set with the chart value extraEnv`);
  const rest = [...environment.keys()].filter((name) => !proxies.includes(name) && !READ_VARIABLES.includes(name));
  const ofGit = rest.filter((name) => name.startsWith('GIT_'));
  if (ofGit.length > 0)
    notes.todo(
      `${ofGit.join(', ')} have no counterpart: check whether git needs these settings. If a private CA signed the server's certificate, specify spec.git.caSecretRef`,
    );
  const others = rest.filter((name) => !ofGit.includes(name));
  if (others.length > 0) notes.dropped(`variables of the removed container: ${others.join(', ')}`);
  if (container.envFrom?.length) notes.todo('envFrom: check whether it sets options of git-sync');
  const parts = OWN_PARTS.filter((part) => container[part]);
  if (parts.length > 0)
    notes.dropped(
      `${parts.join(', ')} of the container: the operator sets them for the sidecar; use spec.agent.resources for its resources`,
    );
}
