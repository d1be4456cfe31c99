import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readGitSync } from '../../../../cli/migrate/git-sync.ts';
import type { Container, PodSpec } from '../../../../cli/migrate/manifest.ts';
import { omit } from '../../../../shared/domain/objects.ts';
import { fromSecret, linesOf, REPO, variable } from './pods.ts';

const html = { name: 'html', mountPath: '/git' };
const spec: PodSpec = {
  containers: [],
  volumes: [
    { name: 'html' },
    { name: 'access', secret: { secretName: 'access' } },
    { name: 'chosen', secret: { secretName: 'named', items: [{ key: 'k', path: 'token' }] } },
    { name: 'plain', configMap: { name: 'settings' } },
    {
      name: 'both',
      projected: {
        sources: [
          { configMap: { name: 'c', items: [{ key: 'x', path: 'x' }] } },
          { secret: { name: 's', items: [{ key: 'y', path: 'z' }] } },
        ],
      },
    },
    { name: 'unclear', projected: { sources: [{ configMap: { name: 'c' } }, { secret: { name: 's' } }] } },
    { name: 'other' },
  ],
};
const mounts = ['access', 'chosen', 'plain', 'both', 'unclear', 'other'].map((name) => ({
  name,
  mountPath: `/etc/${name}`,
}));

/** Expected result for a container, with the default poll interval of a minute. */
function read(args: string[], container: Partial<Container> = {}) {
  const defaults = { name: 'sync', image: 'registry.k8s.io/git-sync/git-sync:v4.4.0', volumeMounts: [html, ...mounts] };
  const found = readGitSync({ ...defaults, args: [REPO, '--period=1m', ...args], ...container }, spec);
  if (found.kind !== 'source') return found;
  return { ...found, notes: linesOf(found.notes) };
}

const git = { repo: 'https://git.example.com/acme/site.git', ref: 'HEAD', submodules: true };
const source = {
  kind: 'source',
  title: 'container sync',
  name: 'site',
  git,
  polling: { interval: '1m' },
  groupWrite: false,
  hasLink: true,
  keepsLinks: true,
  directory: '.',
  place: { volume: 'html', path: 'site.git' },
  isOneTime: false,
  containers: ['sync'],
  notes: [] as string[],
};
const unpolled = omit(source, 'polling');
const flat = omit(git, 'submodules');
type Case = [args: string[], changes: object, notes?: string[], container?: Partial<Container>];

function check(cases: readonly Case[], base: object = source): void {
  for (const [args, changes, notes = [], container] of cases) {
    test(`are migrated as expected: ${[...args, ...Object.keys(container ?? {})].join(' ') || 'none'}`, () => {
      assert.deepEqual(read(args, container), { ...base, ...changes, notes });
    });
  }
}

const tooShort = 'spec.polling.interval is 5s to 24h';
const old = { image: 'git-sync:v3.6.5', volumeMounts: [{ name: 'html', mountPath: '/tmp/git' }] };
const webhookInstead = 'and the operator polls every 60 s: set up a webhook, or set spec.polling.interval';

suite('options of git-sync', () => {
  check([
    [[], {}],
    [['--period=90s'], { polling: { interval: '1m30s' } }],
    [['--period=1h'], { polling: { interval: '1h' } }],
    [['--period=5s'], { polling: { interval: '5s' } }],
    [['--period=4s'], { polling: { interval: '5s' } }, [`differs: it polled every 4s; ${tooShort}`]],
    [['--period=24h'], { polling: { interval: '24h' } }],
    [['--period=25h'], { polling: { interval: '24h' } }, [`differs: it polled every 25h0m0s; ${tooShort}`]],
    [['--wait=30'], { polling: { interval: '30s' } }],
    [['--wait=0'], {}],
    [['--sync-timeout=90s'], { git: { ...git, timeout: '1m30s' } }],
    [['--timeout=90', '--sync-timeout=1h'], { git: { ...git, timeout: '1m30s' } }],
    [['--timeout=0', '--sync-timeout=1h'], { git: { ...git, timeout: '1h' } }],
    [
      ['--sync-timeout=4s'],
      { git: { ...git, timeout: '5s' } },
      ['differs: the timeout of a sync was 4s; spec.git.timeout is 5s to 24h'],
    ],
    [['--sync-timeout=5s'], { git: { ...git, timeout: '5s' } }],
    [['--sync-timeout=24h'], { git: { ...git, timeout: '24h' } }],
    [['--sync-timeout=-'], {}, ['dropped: the timeout of a sync (-): spec.git.timeout is an hour by default']],
    [['--timeout=-'], {}, ['dropped: the timeout of a sync (-): spec.git.timeout is an hour by default']],
    [['--submodules=recursive'], {}],
    [['--submodules=shallow'], {}, ['differs: --submodules=shallow: nested submodules are also fetched']],
    [
      ['--submodules=off'],
      { git: flat },
      ['differs: --submodules=off left an empty directory for a submodule: exclude it, because the agent rejects it'],
    ],
    [['--group-write'], { groupWrite: true }],
    [['--group-write=false'], {}],
    [['--one-time'], { isOneTime: true }],
    [['--one-time=t'], { isOneTime: true }],
    [['--link=now'], { place: { volume: 'html', path: 'now' } }],
    [['--link=/git/a/../b/'], { place: { volume: 'html', path: 'b' } }],
    [['--root=/git/deep'], { place: { volume: 'html', path: 'deep/site.git' } }],
    [[], { place: { volume: 'html', path: 'part/site.git' } }, [], { volumeMounts: [{ ...html, subPath: 'part' }] }],
    [
      [],
      { place: { volume: 'inner', path: '' } },
      [],
      { volumeMounts: [html, { name: 'inner', mountPath: '/git/site.git' }, { name: 'root', mountPath: '/' }] },
    ],
  ]);
});

suite('options of git-sync without a period', () => {
  const bare = (image: string, mountPath = '/git') => ({
    image,
    args: [REPO],
    volumeMounts: [{ name: 'html', mountPath }],
  });
  check(
    [
      [[], {}, [`differs: git-sync polled every 10 s by default, ${webhookInstead}`], bare('git-sync:v4')],
      [
        [],
        { git: { ...git, ref: 'master' } },
        [`differs: git-sync polled every 1 s by default, ${webhookInstead}`],
        bare('git-sync:3.6.5', '/tmp/git'),
      ],
      [['--one-time'], { isOneTime: true }, [], { args: [REPO, '--one-time'] }],
      [
        ['--period=-'],
        {},
        ['differs: its poll interval (-) is invalid: the operator polls every 60 s'],
        { args: [REPO, '--period=-'] },
      ],
      [
        ['--wait=-'],
        {},
        ['differs: its poll interval (-) is invalid: the operator polls every 60 s'],
        { args: [REPO, '--wait=-'] },
      ],
      [
        ['-wait=0'],
        { git: { ...git, ref: 'master' }, polling: { interval: '5s' } },
        [`differs: it polled every 0ms; ${tooShort}`],
        { ...old, args: [REPO, '-wait=0'] },
      ],
      [
        [],
        {},
        [
          `differs: git-sync polled every 10 s by default, ${webhookInstead}`,
          'todo: its image has no version: it was converted as git-sync v4',
        ],
        { image: 'git-sync', args: [REPO, '--one-time=f'] },
      ],
    ],
    unpolled,
  );
});

suite('options of git-sync that need a note', () => {
  const forEver = 'the agent retries without a limit; maxFailures in spec.sync makes the pod unready instead';
  const modeRule =
    'mode in the mapping must be four octal digits in quotes, such as "0600" or "0440": readable for the owner, not writable for others, and without a setuid, setgid, or sticky bit';
  const probe = { httpGet: { port: 1 } };
  check([
    [['--depth=0'], {}, ['dropped: --depth: the agent fetches one commit, and the volume has no history']],
    [['--max-failures=0'], {}, [`dropped: --max-failures 0: ${forEver}`]],
    [['--max-sync-failures=3'], {}, [`dropped: --max-sync-failures 3: ${forEver}`]],
    [['--add-user'], {}, ['dropped: --add-user: the agent does not need an entry in /etc/passwd']],
    [['--change-permissions=0777'], {}, [`todo: --change-permissions 0777: ${modeRule}`]],
    [
      ['--change-permissions=0640'],
      { mode: '0640' },
      ['differs: --change-permissions 0640: mode in the mapping applies to files, and not to directories'],
    ],
    ...['00640', '0o640', '416'].map((text): [string[], object, string[]] => [
      [`--change-permissions=${text}`],
      { mode: '0640' },
      [`differs: --change-permissions ${text}: mode in the mapping applies to files, and not to directories`],
    ]),
    [['--change-permissions=640'], {}, [`todo: --change-permissions 640: ${modeRule}`]],
    [['--change-permissions=0x1a0'], {}, [`todo: --change-permissions 0x1a0: ${modeRule}`]],
    [['--change-permissions=0'], {}],
    [['--change-permissions=0o0'], {}],
    [['--git=/usr/bin/git'], {}, ['dropped: --git: the image of the agent contains git']],
    [
      ['--http-bind=:80'],
      {},
      ['dropped: --http-bind: the agent serves /healthz on its port sync-health, and metrics on sync-metrics'],
    ],
    [['--http-metrics'], {}, ['dropped: --http-metrics: the metrics of the agent have other names']],
    [['--http-metrics=false', '--http-pprof=F'], {}],
    [['--http-pprof=true'], {}, ['dropped: --http-pprof has no counterpart']],
    [
      ['--nobody=knows', '-v', '2', 'word'],
      {},
      ['todo: unknown to kubectl stoker migrate: --nobody, a word that is not an option; check the manual of git-sync'],
    ],
    [
      [],
      {},
      ['todo: HTTPS_PROXY, no_proxy: agents use the proxy of the operator, set with the chart value extraEnv'],
      { env: [variable('HTTPS_PROXY', 'x'), variable('no_proxy', 'y')] },
    ],
    [
      [],
      {},
      ['dropped: variables of the removed container: TZ, MY_HTTP_PROXY'],
      { env: [variable('TZ', 'UTC'), variable('MY_HTTP_PROXY', 'y')] },
    ],
    [[], {}, ['todo: envFrom: check whether it sets options of git-sync'], { envFrom: [{}] }],
    [[], {}, [], { envFrom: [] }],
    [
      [],
      {},
      [
        'dropped: resources, securityContext, livenessProbe, readinessProbe, startupProbe, ports, lifecycle of the container: the operator sets them for the sidecar; use spec.agent.resources for its resources',
      ],
      {
        resources: {},
        securityContext: {},
        livenessProbe: probe,
        readinessProbe: probe,
        startupProbe: probe,
        ports: [],
        lifecycle: {},
      },
    ],
  ]);
});

const create = (key: string) =>
  `run kubectl create secret generic site-git --from-file=${key}=FILE, with all other keys of this Secret that are used here`;
const withToken = (name: string, key: string) => ({ git: { ...git, auth: { token: { secretRef: { name, key } } } } });
const asUser = (user: string) => {
  const { git: token } = withToken('access', 'pass');
  return { git: { ...token, repo: token.repo.replace('https://', `https://${user}@`) } };
};
const otherUser =
  'todo: the user name cannot be a part of spec.git.repo, or looks like a token: store USER:TOKEN in the Secret of spec.git.auth';
const secretUser =
  'todo: the user name is from a Secret, which the operator does not read: write it in spec.git.repo (https://USER@HOST/PATH), or store USER:TOKEN in the Secret of spec.git.auth';
const app = ['--github-app-application-id=1', '--github-app-installation-id=2'];
const privateKey = '--github-app-private-key-file=/etc/access/pem';
const ofApp = (more: object = {}) => ({
  git: {
    ...git,
    auth: { githubApp: { appId: 1, installationId: 2, privateKeySecretRef: { name: 'access', key: 'pem' }, ...more } },
  },
});
const chartValue = 'todo: a GitHub App requires the chart value githubApp.enabled of the operator';

suite('credentials of git-sync', () => {
  const inNoSecret = (what: string, file: string, key: string) =>
    `todo: ${what} (${file}) is not in a mounted Secret: ${create(key)}`;
  check([
    [['--password-file=/etc/access/token'], withToken('access', 'token')],
    [['--password-file=/etc/chosen/token'], withToken('named', 'k')],
    [['--password-file=/etc/both/z'], withToken('s', 'y')],
    ...[
      '/etc/chosen/other',
      '/etc/both/y',
      '/etc/unclear/x',
      '/etc/other/x',
      '/nowhere',
      '/etc/access/a/b',
      '/etc/access',
    ].map(
      (file): Case => [
        [`--password-file=${file}`],
        withToken('site-git', 'token'),
        [inNoSecret('the token', file, 'token')],
      ],
    ),
    [
      ['--password-file=/etc/plain/token'],
      withToken('site-git', 'token'),
      [`todo: the token (/etc/plain/token) is in the ConfigMap settings: ${create('token')}`],
    ],
    [[], withToken('access', 'pass'), [], { env: [fromSecret('GITSYNC_PASSWORD')] }],
    ...Object.entries({
      bot: 'bot',
      'gitlab+deploy-token-42': 'gitlab+deploy-token-42',
      'me@corp.test': 'me%40corp.test',
      'a b%': 'a%20b%25',
    }).map(
      ([user, inUrl]): Case => [
        [`--username=${user}`, '--password-file=/nowhere'],
        asUser(inUrl),
        [],
        { env: [fromSecret('GITSYNC_PASSWORD')] },
      ],
    ),
    ...['a/b', 'a:b', `ghp_${'x'.repeat(30)}`].map(
      (user): Case => [
        [`--username=${user}`],
        withToken('access', 'pass'),
        [otherUser],
        { env: [fromSecret('GITSYNC_PASSWORD')] },
      ],
    ),
    [
      [],
      withToken('access', 'pass'),
      [secretUser],
      { env: [fromSecret('GITSYNC_PASSWORD'), fromSecret('GITSYNC_USERNAME')] },
    ],
    [['--ssh'], {}, ['dropped: --ssh: the URL of the repository does not use ssh']],
    [['--ssh=false'], {}],
    [
      ['--askpass-url=http://x', '--cookie-file'],
      {},
      ['askpass-url', 'cookie-file'].map(
        (name) => `todo: --${name} has no counterpart: specify a token, an SSH key, or a GitHub App in spec.git.auth`,
      ),
    ],
    [['--askpass-url=', '--cookie-file=false'], {}],
    [[...app, privateKey], ofApp(), [chartValue]],
    [[...app, privateKey, '--github-base-url=https://api.github.com/'], ofApp(), [chartValue]],
    [[...app, privateKey, '--github-base-url='], ofApp(), [chartValue]],
    [
      [...app, privateKey, '--github-base-url=https://ghe.test/api/v3//'],
      ofApp({ apiBaseURL: 'https://ghe.test/api/v3' }),
      [chartValue],
    ],
    [
      [...app, '--github-app-private-key-file='],
      ofApp({ privateKeySecretRef: { name: 'site-git', key: 'private-key' } }),
      [inNoSecret('the private key of the App', 'no file specified', 'private-key'), chartValue],
    ],
    [
      app,
      ofApp({ privateKeySecretRef: { name: 'access', key: 'pass' } }),
      [chartValue],
      { env: [fromSecret('GITSYNC_GITHUB_APP_PRIVATE_KEY')] },
    ],
  ]);

  const overSsh = 'ssh://git@git.example.com/acme/site.git';
  const sshGit = (auth: object) => ({ git: { ...git, repo: overSsh, auth: { sshKey: auth } } });
  const key = { secretRef: { name: 'access', key: 'ssh' } };
  const knownHosts = { secretRef: { name: 'access', key: 'known_hosts' } };
  const mounted = { volumeMounts: [html, { name: 'access', mountPath: '/etc/git-secret' }] };
  const start = [`--repo=${overSsh}`, '--period=1m'];
  check([
    [['by ssh'], sshGit({ ...key, knownHosts }), [], { ...mounted, args: start }],
    [
      ['by ssh with other files'],
      sshGit({ secretRef: { name: 'access', key: 'a' }, knownHosts: { secretRef: { name: 'access', key: 'b' } } }),
      [],
      { args: [...start, '--ssh-key-file=/etc/access/a', '--ssh-known-hosts-file=/etc/access/b', '--ssh'] },
    ],
    [
      ['by ssh of an unknown host'],
      sshGit({ ...key, insecureIgnoreHostKey: true }),
      ['todo: host keys are still not checked: specify the known_hosts in spec.git.auth.sshKey.knownHosts'],
      { ...mounted, args: [...start, '--ssh-known-hosts=false'] },
    ],
    [
      ['by ssh with what only https needs'],
      sshGit({ ...key, knownHosts }),
      [
        'dropped: user name and password: the URL of the repository uses ssh',
        'dropped: GIT_SSL_CAINFO: the URL of the repository does not use https',
      ],
      { ...mounted, args: [...start, '--username=bot'], env: [variable('GIT_SSL_CAINFO', '/etc/access/ca')] },
    ],
    [
      ['in no Secret'],
      sshGit({
        secretRef: { name: 'site-git', key: 'ssh-privatekey' },
        knownHosts: { secretRef: { name: 'site-git', key: 'known_hosts' } },
      }),
      [
        inNoSecret('the private key', '/etc/git-secret/ssh', 'ssh-privatekey'),
        inNoSecret('the known_hosts', '/etc/git-secret/known_hosts', 'known_hosts'),
      ],
      { args: start },
    ],
  ]);

  const withCa = (name: string, caKey: string) => ({ git: { ...git, caSecretRef: { name, key: caKey } } });
  check([
    [[], withCa('access', 'ca'), [], { env: [variable('GIT_SSL_CAINFO', '/etc/access/ca')] }],
    [[], withCa('access', 'ca'), [], { env: [variable('SSL_CERT_FILE', '/etc/access/ca')] }],
    [
      [],
      withCa('site-git', 'ca.crt'),
      [inNoSecret('the CA of the git server', '/ca', 'ca.crt')],
      { env: [variable('SSL_CERT_FILE', '/x'), variable('GIT_SSL_CAINFO', '/ca')] },
    ],
  ]);
});

const noHash = 'differs: the request has the header X-Sync-Commit instead of Gitsync-Hash';
const reloads = (request: object, port: number, more: object = {}) => ({
  gateway: { port, ...more, reload: { requests: [{ method: 'POST', path: '/', expectStatus: 200, ...request }] } },
});
const noCounterpart = (place: string, why: string) =>
  `todo: the request to ${place} after a change has no counterpart: ${why}`;

suite('webhook options of git-sync', () => {
  const url = '--webhook-url=http://localhost/';
  const any = 'differs: any response was accepted, and now only 2xx';
  const anySuccess = { gateway: { port: 80, reload: { requests: [{ method: 'POST', path: '/' }] } } };
  check([
    [[url], reloads({}, 80), [noHash]],
    [['--webhook-url=http://127.0.0.1:8080//a/b?c=d'], reloads({ path: '/a/b?c=d' }, 8080), [noHash]],
    [['--webhook-url=https://[::1]/x'], reloads({ path: '/x' }, 443, { tls: true }), [noHash]],
    [[url, '--webhook-method=put'], reloads({ method: 'PUT' }, 80), [noHash]],
    [[url, '--webhook-method='], reloads({}, 80), [noHash]],
    [[url, '--webhook-success-status=204'], reloads({ expectStatus: 204 }, 80), [noHash]],
    [[url, '--webhook-success-status=100'], reloads({ expectStatus: 100 }, 80), [noHash]],
    [[url, '--webhook-success-status=599'], reloads({ expectStatus: 599 }, 80), [noHash]],
    [[url, '--webhook-success-status=0'], anySuccess, [noHash, any]],
    [[url, '--webhook-success-status=99'], anySuccess, [noHash, any]],
    [[url, '--webhook-success-status=600'], anySuccess, [noHash, any]],
    [[url, '--webhook-timeout=1m'], reloads({ timeout: '1m0s' }, 80), [noHash]],
    [[url, '--webhook-timeout=999ms'], reloads({ timeout: '1s' }, 80), [noHash]],
    [[url, '--webhook-timeout=6m'], reloads({ timeout: '5m0s' }, 80), [noHash]],
    [
      [url, '--webhook-backoff=1s'],
      reloads({}, 80),
      ['dropped: --webhook-backoff: the agent sets the delay before a retry', noHash],
    ],
    [
      ['--webhook-url=http://bob@localhost/'],
      reloads({}, 80),
      ['todo: the request had a user and a password: specify a Secret in headersFrom of spec.gateway.reload', noHash],
    ],
    [['--webhook-url=:'], {}, [noCounterpart('a webhook', 'it is not a URL')]],
    [
      ['--webhook-url=https://hooks.test:8443/T0/x', '--webhook-backoff=1s', '--webhook-success-status=0'],
      {},
      [noCounterpart('hooks.test:8443', 'the agent sends requests only to its pod')],
    ],
    [[url, '--webhook-method=delete'], {}, [noCounterpart('localhost', 'the method is DELETE, not GET, POST, or PUT')]],
    [
      ['--touch-file=done'],
      { gateway: { reload: { touchFile: 'done' } } },
      ['differs: --touch-file done now contains the commit and the time'],
    ],
    [
      [url, '--touch-file=/git/a/done'],
      { gateway: { ...reloads({}, 80).gateway, reload: { ...reloads({}, 80).gateway.reload, touchFile: 'a/done' } } },
      [noHash, 'differs: --touch-file /git/a/done now contains the commit and the time'],
    ],
    [
      ['--touch-file=/tmp/done'],
      {},
      ['todo: --touch-file /tmp/done is not on the data volume, which spec.gateway.reload.touchFile requires'],
    ],
    ...['--exechook-command=', '--sync-hook-command='].map(
      (option): Case => [
        [`${option} /run.sh --now`],
        {},
        [
          'todo: --exechook-command /run.sh has no counterpart: the agent does not run programs. Use spec.gateway.reload.signal if the application reloads on a signal, spec.gateway.reload.touchFile if it can watch a file, or spec.gateway.reload.requests',
        ],
      ],
    ),
  ]);
});

suite('a git-sync container', () => {
  const elsewhere = (by: string) => `the value of ${by} is not in the manifest: add it`;
  const ofField = { env: [{ name: 'GITSYNC_REF', valueFrom: {} }] };
  const cases: [why: string, args: string[], container?: Partial<Container>][] = [
    [elsewhere('the variable GITSYNC_REF'), [], { env: [fromSecret('GITSYNC_REF')] }],
    [elsewhere('the variable GITSYNC_REF'), [], ofField],
    [
      elsewhere('the variable GITSYNC_PASSWORD'),
      [],
      { env: [{ name: 'GITSYNC_PASSWORD', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
    ],
    ['its --repo is not in the manifest', ['--repo='], {}],
    ['it is started by a shell script', [], { command: ['/bin/ash'] }],
    ['its GitHub App has no --github-app-application-id, which the operator requires', [privateKey]],
    [
      'its GitHub App has no --github-app-installation-id in the manifest',
      [privateKey, '--github-app-application-id=1'],
    ],
    [
      'its repository uses http:// or git://, and the operator does not send credentials without encryption',
      ['--repo=http://git.example.com/x', '--password-file=/etc/access/token'],
    ],
    [
      'it mounts its volume with subPathExpr, so the directory of its link (/git/site.git) is unknown: use subPath',
      [],
      { volumeMounts: [{ ...html, subPathExpr: '$(X)' }] },
    ],
    [
      'no volume is mounted at /git/site.git, the path of its link',
      [],
      { volumeMounts: [{ name: 'html', mountPath: '/gi' }] },
    ],
  ];
  for (const [why, args, container] of cases) {
    test(`stays unchanged because ${why.slice(0, 60)}: ${args.join(' ')}`, () => {
      assert.deepEqual(read(args, container), { kind: 'stays', title: 'container sync', why });
    });
  }
});
