import { parseRepository } from '../../shared/domain/git/repository.ts';
import { type GitSyncOptions, textOf } from './git-sync-options.ts';
import type { Container, PodSpec } from './manifest.ts';
import { sourceOf } from './pod-paths.ts';
import { isToken, type Notes, nameFor, type Spec } from './source.ts';

type Auth = NonNullable<Spec['git']['auth']>;

/** Credentials of git-sync in the form of the operator. */
export type AuthResult =
  | { kind: 'auth'; auth: Auth | undefined; caSecretRef: Spec['git']['caSecretRef']; repo: string }
  | { kind: 'stays'; why: string };

/** A container with its pod and repository. */
export interface Caller {
  options: GitSyncOptions;
  container: Container;
  spec: PodSpec;
  repo: string;
}

interface SecretKey {
  name: string;
  key: string;
}

/** Reads the credentials of git-sync: names of Secrets, never their values. */
export function readAuth(caller: Caller, notes: Notes): AuthResult {
  const { settings } = caller.options;
  if (isGiven(settings, 'credential'))
    return {
      kind: 'stays',
      why: '--credential cannot be converted: specify the password with --username and --password-file, or with GITSYNC_PASSWORD from a Secret',
    };
  const auth = readMethod(caller, notes);
  if (typeof auth === 'string') return { kind: 'stays', why: auth };
  const repo = auth?.token ? withUser(caller, notes) : caller.repo;
  return { kind: 'auth', auth, caSecretRef: readCa(caller, notes), repo };
}

function readMethod(caller: Caller, notes: Notes): Auth | string | undefined {
  const { options, repo } = caller;
  const { settings } = options;
  const transport = parseRepository(repo)?.transport;
  for (const name of ['askpass-url', 'cookie-file'])
    if (isGiven(settings, name) && settings.get(name)?.kind === 'value')
      notes.todo(`--${name} has no counterpart: specify a token, an SSH key, or a GitHub App in spec.git.auth`);
  if (transport === 'ssh') return { sshKey: readSshKey(caller, notes) };
  if (isGiven(settings, 'ssh')) notes.dropped('--ssh: the URL of the repository does not use ssh');
  const hasApp = GITHUB.some((name) => isGiven(settings, name));
  const hasToken = isGiven(settings, 'password') || isGiven(settings, 'password-file');
  if (!hasApp && !hasToken) return undefined;
  if (!/^https:/i.test(repo))
    return 'its repository uses http:// or git://, and the operator does not send credentials without encryption';
  return hasApp ? readApp(caller, notes) : { token: { secretRef: readToken(caller, notes) } };
}

function readSshKey(caller: Caller, notes: Notes): NonNullable<Auth['sshKey']> {
  const { settings } = caller.options;
  const keyFile = chooseKeyFile(caller, notes);
  const secretRef = secretOf(caller, keyFile, { key: 'ssh-privatekey', what: 'the private key', notes });
  if (['username', 'password', 'password-file'].some((name) => isGiven(settings, name)))
    notes.dropped('user name and password: the URL of the repository uses ssh');
  if (/^(false|f|0)$/i.test(textOf(settings, 'ssh-known-hosts') ?? '')) {
    notes.todo('host keys are still not checked: specify the known_hosts in spec.git.auth.sshKey.knownHosts');
    return { secretRef, insecureIgnoreHostKey: true };
  }
  const hostsFile = textOf(settings, 'ssh-known-hosts-file') || '/etc/git-secret/known_hosts';
  const what = { key: 'known_hosts', what: 'the known_hosts', notes };
  return { secretRef, knownHosts: { secretRef: secretOf(caller, hostsFile, what) } };
}

/** Returns the first key from a Secret. git-sync 4 tries several keys, but the operator only one. */
function chooseKeyFile({ options, container, spec }: Caller, notes: Notes): string {
  const text = textOf(options.settings, 'ssh-key-file') || '/etc/git-secret/ssh';
  const files = options.version === 4 ? text.split(':').filter(Boolean) : [text];
  const chosen = files.find((file) => sourceOf(container, spec, file)?.kind === 'Secret') ?? files[0] ?? text;
  const others = files.filter((file) => file !== chosen);
  if (others.length > 0)
    notes.todo(
      `git-sync tries ${files.length} SSH keys, but spec.git.auth.sshKey has only one: check that the git server accepts ${chosen}. Not converted: ${others.join(', ')}`,
    );
  return chosen;
}

function readToken(caller: Caller, notes: Notes): SecretKey {
  const { settings } = caller.options;
  const password = settings.get('password');
  if (password?.kind === 'secret') return { name: password.name, key: password.key };
  const file = textOf(settings, 'password-file') ?? '';
  return secretOf(caller, file, { key: 'token', what: 'the token', notes });
}

/** Returns the repository with the user name for the token, because some git servers accept no other one. */
function withUser({ options, repo }: Caller, notes: Notes): string {
  const setting = options.settings.get('username');
  if (!setting || (setting.kind === 'value' && setting.value === '')) return repo;
  if (setting.kind !== 'value') {
    notes.todo(
      'the user name is from a Secret, which the operator does not read: write it in spec.git.repo (https://USER@HOST/PATH), or store USER:TOKEN in the Secret of spec.git.auth',
    );
    return repo;
  }
  const user = setting.value;
  const wanted = repo.replace(/^https:\/\//i, (scheme) => `${scheme}${escapedUser(user)}@`);
  if (!isToken(user) && parseRepository(wanted)?.user === user) return wanted;
  notes.todo(
    'the user name cannot be a part of spec.git.repo, or looks like a token: store USER:TOKEN in the Secret of spec.git.auth',
  );
  return repo;
}

/** Percent-encodes the characters that the user in a URL can't have (RFC 3986, section 3.2.1). */
const escapedUser = (user: string): string =>
  encodeURIComponent(user).replaceAll(/%(2B|26|3D|3B|24|2C)/g, (code) => decodeURIComponent(code));

const GITHUB = [
  'github-app-private-key',
  'github-app-private-key-file',
  'github-app-application-id',
  'github-app-client-id',
  'github-app-installation-id',
];

function readApp(caller: Caller, notes: Notes): Auth | string {
  const { settings } = caller.options;
  const [appId, installationId] = ['github-app-application-id', 'github-app-installation-id'].map((name) =>
    Number(textOf(settings, name)),
  );
  if (!appId) return 'its GitHub App has no --github-app-application-id, which the operator requires';
  if (!installationId) return 'its GitHub App has no --github-app-installation-id in the manifest';
  const key = settings.get('github-app-private-key');
  const file = textOf(settings, 'github-app-private-key-file') ?? '';
  const privateKeySecretRef =
    key?.kind === 'secret'
      ? { name: key.name, key: key.key }
      : secretOf(caller, file, { key: 'private-key', what: 'the private key of the App', notes });
  const base = textOf(settings, 'github-base-url')?.replace(/\/+$/, '');
  notes.todo('a GitHub App requires the chart value githubApp.enabled of the operator');
  const isOther = base !== undefined && base !== '' && base !== 'https://api.github.com';
  return { githubApp: { appId, installationId, privateKeySecretRef, ...(isOther && { apiBaseURL: base }) } };
}

/** Returns the Secret of a file, or else the name of a Secret for the user to create. */
function secretOf(
  { container, spec, repo }: Caller,
  file: string,
  { key, what, notes }: { key: string; what: string; notes: Notes },
): SecretKey {
  const source = sourceOf(container, spec, file);
  if (source?.kind === 'Secret') return { name: source.name, key: source.key };
  const name = `${nameFor(repo)}-git`;
  const where = source ? `in the ConfigMap ${source.name}` : 'not in a mounted Secret';
  notes.todo(
    `${what} (${file || 'no file specified'}) is ${where}: run kubectl create secret generic ${name} --from-file=${key}=FILE, with all other keys of this Secret that are used here`,
  );
  return { name, key };
}

/** Variables of git and curl with CA files. */
const CA_VARIABLES = ['GIT_SSL_CAINFO', 'SSL_CERT_FILE'];

function readCa(caller: Caller, notes: Notes): Spec['git']['caSecretRef'] {
  const { environment } = caller.options;
  const name = CA_VARIABLES.find((each) => environment.get(each)?.kind === 'value');
  const setting = environment.get(name ?? '');
  if (setting?.kind !== 'value') return undefined;
  if (!/^https:/i.test(caller.repo)) {
    notes.dropped(`${name}: the URL of the repository does not use https`);
    return undefined;
  }
  return secretOf(caller, setting.value, { key: 'ca.crt', what: 'the CA of the git server', notes });
}

/** Converted variables. */
export const READ_VARIABLES: readonly string[] = CA_VARIABLES;

const isGiven = (settings: GitSyncOptions['settings'], name: string): boolean => {
  const setting = settings.get(name);
  return setting !== undefined && !(setting.kind === 'value' && /^(|false|f|0)$/i.test(setting.value));
};
