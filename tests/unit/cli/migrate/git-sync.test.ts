import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readGitSync } from '../../../../cli/migrate/git-sync.ts';
import type { Container, PodSpec } from '../../../../cli/migrate/manifest.ts';
import { omit } from '../../../../shared/domain/text/objects.ts';
import { briefOf, fromSecret, REPO, variable } from './pods.ts';

const html = { name: 'html', mountPath: '/git' };
const projected = (name: string, configMap: object, secret: object) => {
  const sources = [{ configMap: { name: 'c', ...configMap } }, { secret: { name: 's', ...secret } }];
  return { name, projected: { sources } };
};
const spec: PodSpec = {
  containers: [],
  volumes: [
    { name: 'html' },
    { name: 'access', secret: { secretName: 'access' } },
    { name: 'chosen', secret: { secretName: 'named', items: [{ key: 'k', path: 'token' }] } },
    { name: 'plain', configMap: { name: 'settings' } },
    projected('both', { items: [{ key: 'x', path: 'x' }] }, { items: [{ key: 'y', path: 'z' }] }),
    projected('unclear', {}, {}),
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
  return { ...found, notes: briefOf(found.notes) };
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

const old = { image: 'git-sync:v3.6.5', volumeMounts: [{ name: 'html', mountPath: '/tmp/git' }] };

suite('options of git-sync', () => {
  check([
    [[], {}],
    [['--period=90s'], { polling: { interval: '1m30s' } }],
    [['--period=5s'], { polling: { interval: '5s' } }],
    [['--period=4s'], { polling: { interval: '5s' } }, ['differs spec.polling.interval']],
    [['--period=24h'], { polling: { interval: '24h' } }],
    [['--period=25h'], { polling: { interval: '24h' } }, ['differs spec.polling.interval']],
    [['--wait=30'], { polling: { interval: '30s' } }],
    [['--wait=0'], {}],
    [['--sync-timeout=90s'], { git: { ...git, timeout: '1m30s' } }],
    [['--timeout=0', '--sync-timeout=1h'], { git: { ...git, timeout: '1h' } }],
    [['--sync-timeout=4s'], { git: { ...git, timeout: '5s' } }, ['differs spec.git.timeout']],
    [['--sync-timeout=-'], {}, ['dropped spec.git.timeout']],
    [['--submodules=recursive'], {}],
    [['--submodules=shallow'], {}, ['differs --submodules']],
    [['--submodules=off'], { git: flat }, ['differs --submodules']],
    [['--group-write'], { groupWrite: true }],
    [['--group-write=false'], {}],
    [['--one-time'], { isOneTime: true }],
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
      [[], {}, ['differs spec.polling.interval'], bare('git-sync:v4')],
      [[], { git: { ...git, ref: 'master' } }, ['differs spec.polling.interval'], bare('git-sync:3.6.5', '/tmp/git')],
      [['--one-time'], { isOneTime: true }, [], { args: [REPO, '--one-time'] }],
      [['--period=-'], {}, ['differs'], { args: [REPO, '--period=-'] }],
      [
        ['-wait=0'],
        { git: { ...git, ref: 'master' }, polling: { interval: '5s' } },
        ['differs spec.polling.interval'],
        { ...old, args: [REPO, '-wait=0'] },
      ],
      [[], {}, ['differs spec.polling.interval', 'todo'], { image: 'git-sync', args: [REPO, '--one-time=f'] }],
    ],
    unpolled,
  );
});

suite('options of git-sync that need a note', () => {
  const probe = { httpGet: { port: 1 } };
  check([
    [['--max-failures=0'], {}, ['dropped --max-failures spec.sync']],
    [['--add-user'], {}, ['dropped --add-user']],
    [['--change-permissions=0777'], {}, ['todo --change-permissions']],
    [['--change-permissions=0640'], { mode: '0640' }, ['differs --change-permissions']],
    [['--change-permissions=416'], { mode: '0640' }, ['differs --change-permissions']],
    [['--change-permissions=0x1a0'], {}, ['todo --change-permissions']],
    [['--change-permissions=0'], {}],
    [['--http-metrics'], {}, ['dropped --http-metrics']],
    [['--http-metrics=false', '--http-pprof=F'], {}],
    [['--unknown=flag', '-v', '2', 'word'], {}, ['todo --unknown']],
    [[], {}, ['todo HTTPS_PROXY no_proxy'], { env: [variable('HTTPS_PROXY', 'x'), variable('no_proxy', 'y')] }],
    [[], {}, ['dropped MY_HTTP_PROXY'], { env: [variable('TZ', 'UTC'), variable('MY_HTTP_PROXY', 'y')] }],
    [[], {}, ['todo'], { envFrom: [{}] }],
    [[], {}, ['dropped spec.agent.resources'], { resources: {}, securityContext: {}, ports: [], lifecycle: {} }],
    [[], {}, ['dropped spec.agent.resources'], { livenessProbe: probe, readinessProbe: probe, startupProbe: probe }],
  ]);
});

const withToken = (name: string, key: string) => ({ git: { ...git, auth: { token: { secretRef: { name, key } } } } });
const asUser = (user: string) => {
  const { git: token } = withToken('access', 'pass');
  return { git: { ...token, repo: token.repo.replace('https://', `https://${user}@`) } };
};
const otherUser = 'todo spec.git.repo spec.git.auth';
const app = ['--github-app-application-id=1', '--github-app-installation-id=2'];
const privateKey = '--github-app-private-key-file=/etc/access/pem';
const ofApp = (more: object = {}) => {
  const githubApp = { appId: 1, installationId: 2, privateKeySecretRef: { name: 'access', key: 'pem' }, ...more };
  return { git: { ...git, auth: { githubApp } } };
};
const chartValue = 'todo';
const withPassword = { env: [fromSecret('GITSYNC_PASSWORD')] };

suite('credentials of git-sync', () => {
  const inNoSecret = 'todo --from-file';
  const ghe = 'https://ghe.test/api/v3';
  check([
    [['--password-file=/etc/access/token'], withToken('access', 'token')],
    [['--password-file=/etc/chosen/token'], withToken('named', 'k')],
    [['--password-file=/etc/both/z'], withToken('s', 'y')],
    ...['/etc/chosen/other', '/etc/unclear/x', '/nowhere', '/etc/access/a/b', '/etc/access', '/etc/plain/token'].map(
      (file): Case => [[`--password-file=${file}`], withToken('site-git', 'token'), [inNoSecret]],
    ),
    [[], withToken('access', 'pass'), [], withPassword],
    [['--username=deploy-token+4', '--password-file=/nowhere'], asUser('deploy-token+4'), [], withPassword],
    [['--username=a b%@corp.test'], asUser('a%20b%25%40corp.test'), [], withPassword],
    ...['a/b', 'a:b', `ghp_${'x'.repeat(30)}`].map(
      (user): Case => [[`--username=${user}`], withToken('access', 'pass'), [otherUser], withPassword],
    ),
    [
      [],
      withToken('access', 'pass'),
      [otherUser],
      { env: [fromSecret('GITSYNC_PASSWORD'), fromSecret('GITSYNC_USERNAME')] },
    ],
    [['--ssh'], {}, ['dropped --ssh']],
    [
      ['--askpass-url=http://x', '--cookie-file'],
      {},
      ['todo --askpass-url spec.git.auth', 'todo --cookie-file spec.git.auth'],
    ],
    [[...app, privateKey], ofApp(), [chartValue]],
    [[...app, privateKey, '--github-base-url=https://api.github.com/'], ofApp(), [chartValue]],
    [[...app, privateKey, `--github-base-url=${ghe}//`], ofApp({ apiBaseURL: ghe }), [chartValue]],
    [
      [...app, '--github-app-private-key-file='],
      ofApp({ privateKeySecretRef: { name: 'site-git', key: 'private-key' } }),
      [inNoSecret, chartValue],
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
  const inSecret = (name: string, key: string) => ({ secretRef: { name, key } });
  const key = inSecret('access', 'ssh');
  const knownHosts = inSecret('access', 'known_hosts');
  const mounted = { volumeMounts: [html, { name: 'access', mountPath: '/etc/git-secret' }] };
  const start = [`--repo=${overSsh}`, '--period=1m'];
  check([
    [['by ssh'], sshGit({ ...key, knownHosts }), [], { ...mounted, args: start }],
    [
      ['by ssh with other files'],
      sshGit({ ...inSecret('access', 'a'), knownHosts: inSecret('access', 'b') }),
      [],
      { args: [...start, '--ssh-key-file=/etc/access/a', '--ssh-known-hosts-file=/etc/access/b', '--ssh'] },
    ],
    [
      ['by ssh of an unknown host'],
      sshGit({ ...key, insecureIgnoreHostKey: true }),
      ['todo spec.git.auth.sshKey.knownHosts'],
      { ...mounted, args: [...start, '--ssh-known-hosts=false'] },
    ],
    [
      ['by ssh with what only https needs'],
      sshGit({ ...key, knownHosts }),
      ['dropped', 'dropped GIT_SSL_CAINFO'],
      { ...mounted, args: [...start, '--username=bot'], env: [variable('GIT_SSL_CAINFO', '/etc/access/ca')] },
    ],
    [
      ['in no Secret'],
      sshGit({ ...inSecret('site-git', 'ssh-privatekey'), knownHosts: inSecret('site-git', 'known_hosts') }),
      [inNoSecret, inNoSecret],
      { args: start },
    ],
  ]);

  const withCa = (name: string, caKey: string) => ({ git: { ...git, caSecretRef: { name, key: caKey } } });
  check([
    [[], withCa('access', 'ca'), [], { env: [variable('GIT_SSL_CAINFO', '/etc/access/ca')] }],
    [
      [],
      withCa('site-git', 'ca.crt'),
      [inNoSecret],
      { env: [variable('SSL_CERT_FILE', '/x'), variable('GIT_SSL_CAINFO', '/ca')] },
    ],
  ]);
});

const noHash = 'differs';
const reloads = (request: object, port: number, more: object = {}) => ({
  gateway: { port, ...more, reload: { requests: [{ method: 'POST', path: '/', expectStatus: 200, ...request }] } },
});

suite('webhook options of git-sync', () => {
  const url = '--webhook-url=http://localhost/';
  const { gateway } = reloads({}, 80);
  const both = { gateway: { ...gateway, reload: { ...gateway.reload, touchFile: 'done' } } };
  const hook = `todo --exechook-command ${['signal', 'touchFile', 'requests'].map((field) => `spec.gateway.reload.${field}`).join(' ')}`;
  const anySuccess = { gateway: { port: 80, reload: { requests: [{ method: 'POST', path: '/' }] } } };
  check([
    [[url], reloads({}, 80), [noHash]],
    [['--webhook-url=http://127.0.0.1:8080//a/b?c=d'], reloads({ path: '/a/b?c=d' }, 8080), [noHash]],
    [['--webhook-url=https://[::1]/x'], reloads({ path: '/x' }, 443, { tls: true }), [noHash]],
    [[url, '--webhook-method=put'], reloads({ method: 'PUT' }, 80), [noHash]],
    [[url, '--webhook-success-status=100'], reloads({ expectStatus: 100 }, 80), [noHash]],
    [[url, '--webhook-success-status=599'], reloads({ expectStatus: 599 }, 80), [noHash]],
    [[url, '--webhook-success-status=0'], anySuccess, [noHash, 'differs']],
    [[url, '--webhook-success-status=99'], anySuccess, [noHash, 'differs']],
    [[url, '--webhook-success-status=600'], anySuccess, [noHash, 'differs']],
    [[url, '--webhook-timeout=999ms'], reloads({ timeout: '1s' }, 80), [noHash]],
    [[url, '--webhook-timeout=6m'], reloads({ timeout: '5m0s' }, 80), [noHash]],
    [[url, '--webhook-backoff=1s'], reloads({}, 80), ['dropped --webhook-backoff', noHash]],
    [['--webhook-url=http://bob@localhost/'], reloads({}, 80), ['todo spec.gateway.reload', noHash]],
    [['--webhook-url=:'], {}, ['todo']],
    [
      ['--webhook-url=https://hooks.test:8443/T0/x', '--webhook-backoff=1s', '--webhook-success-status=0'],
      {},
      ['todo'],
    ],
    [[url, '--webhook-method=delete'], {}, ['todo']],
    [['--touch-file=done'], { gateway: { reload: { touchFile: 'done' } } }, ['differs --touch-file']],
    [['--touch-file=/git/a/done'], { gateway: { reload: { touchFile: 'a/done' } } }, ['differs --touch-file']],
    [[url, '--touch-file=done'], both, [noHash, 'differs --touch-file']],
    [['--touch-file=/tmp/done'], {}, ['todo --touch-file spec.gateway.reload.touchFile']],
    [['--exechook-command= /run.sh --now'], {}, [hook]],
    [['--sync-hook-command= /run.sh --now'], {}, [hook]],
  ]);
});

suite('a git-sync container', () => {
  const ofField = { env: [{ name: 'GITSYNC_REF', valueFrom: {} }] };
  const ofConfigMap = { name: 'GITSYNC_PASSWORD', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } };
  const insecure = ['--repo=http://git.example.com/x', '--password-file=/etc/access/token'];
  const cases: [fact: RegExp, args: string[], container?: Partial<Container>][] = [
    [/GITSYNC_REF .*manifest/, [], { env: [fromSecret('GITSYNC_REF')] }],
    [/GITSYNC_REF .*manifest/, [], ofField],
    [/GITSYNC_PASSWORD .*manifest/, [], { env: [ofConfigMap] }],
    [/--repo .*manifest/, ['--repo='], {}],
    [/shell script/, [], { command: ['/bin/ash'] }],
    [/--github-app-application-id/, [privateKey]],
    [/--github-app-installation-id/, [privateKey, '--github-app-application-id=1']],
    [/http:\/\/ or git:\/\/.* credentials/, insecure],
    [/subPathExpr/, [], { volumeMounts: [{ ...html, subPathExpr: '$(X)' }] }],
    [/ \/git\/site\.git/, [], { volumeMounts: [{ name: 'html', mountPath: '/gi' }] }],
  ];
  for (const [fact, args, container] of cases) {
    test(`stays unchanged because of ${fact.source}: ${args.join(' ')}`, () => {
      const found = read(args, container);
      assert.ok(found.kind === 'stays');
      assert.match(found.why, fact);
    });
  }
});
