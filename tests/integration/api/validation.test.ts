import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION } from '../../../shared/api/group.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, connectCluster, createNamespace } from '../../support/cluster.ts';
import { DEFAULT_SETTINGS } from '../../support/default-profile.ts';
import { RANGES, REFUSED_RANGES } from '../../support/version-ranges.ts';

const valid = {
  git: { repo: 'https://git.test/app.git', ref: 'main' },
  sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }] } } },
};

type Json = Record<string, unknown>;

/** The valid spec with other values at dotted paths; undefined takes a field away. */
function spec(changes: Changes): Json {
  const copy = structuredClone(valid) as Json;
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split('.');
    const last = keys.pop() as string;
    let node = copy;
    for (const key of keys) {
      node[key] ??= {};
      node = node[key] as Json;
    }
    if (value === undefined) delete node[last];
    else node[last] = value;
  }
  return copy;
}

type Changes = Record<string, unknown>;
type Refused = readonly [what: string, changes: Changes, words: RegExp];
type Accepted = readonly [what: string, changes: Changes];

const mapping = (fields: Json) => ({
  'sync.profiles.default.mappings': [{ source: 'a', destination: 'b', ...fields }],
});
const patches = (set: Json, count = 1, file = 'a.json') => mapping({ patches: Array(count).fill({ file, set }) });
const range = (semver: string, tagPrefix?: string) => ({
  'git.ref': undefined,
  'git.semver': semver,
  ...(tagPrefix !== undefined && { 'git.tagPrefix': tagPrefix }),
});
const repo = (url: string, auth?: Json) => ({ 'git.repo': url, ...(auth && { 'git.auth': auth }) });
const repositories = (...globs: string[]) => ({ 'webhook.repositories': globs });
const refs = (...globs: string[]) => ({ 'webhook.allowedRefs': globs });
const reload = (fields: Json) => ({ gateway: { reload: fields } });
const requests = (count: number, fields: Json) => reload({ requests: Array(count).fill({ path: '/', ...fields }) });
const verify = (fields: Json) => ({ gateway: { verify: { requests: [{ path: '/', ...fields }] } } });
const expectJson = (path: string, equals: unknown = 1) => verify({ expect: { json: [{ path, equals }] } });
const secret = (key = 'k') => ({ secretRef: { name: 's', key } });
const token = { token: secret() };
const sshKey = (fields: Json = {}) => ({ sshKey: { ...secret(), ...fields } });
const knownHosts = { knownHosts: secret('h') };
const insecure = { insecureIgnoreHostKey: true };
const headers = (count: number) => Array(count).fill({ name: 'X-Key', ...secret() });
const wavesWith = (amount: unknown) => ({
  rollout: { waves: [{ name: 'a', gateways: amount, maxConcurrent: amount }] },
});

const wavesOf = (count: number, length: number) => {
  const values = Array.from({ length: 16 }, (_, n) => `${n}`.padEnd(63, 'v'));
  const matchExpressions = [{ key: 'k'.repeat(length - 16 * 63), operator: 'In', values }];
  return {
    rollout: {
      waves: Array.from({ length: count }, (_, n) => ({ name: `wave-${n}`, selector: { matchExpressions } })),
    },
  };
};
const status = (fields: Json, url = 'https://github.com/a/b') => ({
  'git.repo': url,
  'git.commitStatus': { ...secret(), ...fields },
});
const other = 'https://git.test/a/b';

const MODE = /(must be four octal digits in quotes, such as "0600"|mode: Too long)/;
const METHODS = /exactly one of token, sshKey, and githubApp/;
const BEFORE_PATH = /before the path/;
const TOGETHER = /at most 4096 characters/;

const refused: Refused[] = [
  ['itself as the source of requests', { 'webhook.from': 'x' }, /spec\.webhook\.from must be another GatewaySync/],
  ['a hub in another namespace', { 'webhook.from': 'other/hub' }, /spec\.webhook\.from in body should match/],
  ['no git', { git: undefined }, /spec\.git: Required/],
  ['no ref', { 'git.ref': undefined }, /exactly one of ref and semver must be given/],
  ...REFUSED_RANGES.map(
    (semver): Refused => [
      `the range ${JSON.stringify(semver)}`,
      range(semver),
      semver === '' ? /at least 1 chars/ : /a prerelease needs three numbers/,
    ],
  ),
  ['a prefix of tags without a range', { 'git.tagPrefix': 'site-' }, /tagPrefix requires semver/],
  ...['', '-site', 'a b', 'site..', 'a//b', 'x.lock/', 'v1', 's'.repeat(129)].map(
    (prefix): Refused => [
      `the prefix ${JSON.stringify(prefix)}`,
      range('*', prefix),
      /must be the beginning of tag names|at least 1 chars|Too long/,
    ],
  ),
  ['a local repository', repo('file:///etc'), /the scheme https, http, ssh, or git/],
  ['a command for a repository', repo('ext::sh -c true'), /the scheme https, http, ssh, or git/],
  ['a path of slashes', repo('https://git.test//'), /the scheme https, http, ssh, or git/],
  ['credentials in a URL', repo('https://me:secret@git.test/app.git'), /store them in a Secret/],
  ['a path behind a colon', repo('ssh://git@git.test:team/app.git'), /user@host:path without ssh:/],
  ['a port that is too high', repo('https://git.test:65536/app.git'), /port from 0 to 65535/],
  ['half an IPv6 address', repo('https://[2001:db8::1/app.git'), /must have a host and/],
  ['an option for a host', repo('ssh://-oProxyCommand=x/app.git'), /hyphen/],
  ['a host behind an escape', repo('ssh://a%40127.0.0.1%2f@git.test/app.git'), BEFORE_PATH],
  ['an escape in a host', repo('https://git%40.test/app.git'), BEFORE_PATH],
  ['a host behind a question mark', repo('ssh://git.test?@127.0.0.1/app.git'), BEFORE_PATH],
  ['two users in a URL', repo('ssh://a@127.0.0.1@git.test/app.git'), BEFORE_PATH],
  ['a host in other letters', repo('https://gräte.test/app.git'), /its xn-- form/],
  ['white space in a URL', repo('https://git.test/a b.git'), /spaces/],
  ['an option for a ref', { 'git.ref': '--upload-pack=x' }, /without a leading '-'/],
  ['an empty ref', { 'git.ref': '' }, /at least 1 chars/],
  ['a ref with dots', { 'git.ref': 'a..b' }, /without spaces, control characters/],
  ['a ref that ends with .lock', { 'git.ref': 'main.lock' }, /\.lock/],
  ['a ref with a slash at its end', { 'git.ref': 'main/' }, /trailing/],
  ['a long ref', { 'git.ref': 'a'.repeat(256) }, /255/],
  ['a URL as a repository', repositories('https://github.com/org/repo'), /without a scheme, a user/],
  ['a class in a repository', repositories('org/[a-z]'), /must be a path such as org\/repo/],
  ['a capital letter beyond ASCII in a repository', repositories('Org/É'), /upper-case letters outside ASCII/],
  ['** next to other characters', repositories('org**/a'), /must use \*\* only as a whole path segment/],
  ['an empty repository', repositories(''), /at least 1 chars/],
  ['a long repository', repositories('x'.repeat(301)), /may not be more than 300/],
  ['many long repositories', repositories(...Array(64).fill('x'.repeat(65))), TOGETHER],
  ['a negated glob', refs('v*', '!v1*'), /without a leading !/],
  ['a quantifier in a glob', refs('v[0-9]+'), /\+ after \]/],
  ['a range in a glob', refs('v{1..9}'), /or a range \{1\.\.9\}/],
  ['globs that are long together', refs(...Array(64).fill('v'.repeat(65))), TOGETHER],
  ['a commit status without a token', status({ secretRef: undefined }), /its Secret in commitStatus\.secretRef/],
  ['a commit status of an unknown host', status({}, other), /commitStatus\.provider is required/],
  ['a commit status without TLS', status({ provider: 'gitea' }, 'http://git.test/a/b'), /is sent only over https/],
  ['an unknown kind of host', status({ provider: 'gogs' }), /Unsupported value: "gogs"/],
  ['an unknown field in a context', status({ context: '{{ .Pod }}' }), /braces other than \{\{ \.Cluster \}\}/],
  ['a control character in a context', status({ context: 'a\nb' }), /must not contain control characters/],
  ['an API without TLS', status({ url: 'http://git.test/api/v1' }), /must begin with https:\/\//],
  ['credentials in the URL of an API', status({ url: 'https://me:secret@git.test/' }), /must not contain credentials/],
  ['no method of authentication', { 'git.auth': {} }, METHODS],
  ['two methods of authentication', { 'git.auth': { ...token, ...sshKey() } }, METHODS],
  ['a token over http', repo('http://git.test/app.git', token), /only over https or ssh/],
  ['a token over ssh', repo('git@git.test:app.git', token), /require an https repository/],
  ['a key over https', { 'git.auth': sshKey() }, /sshKey requires an ssh repository/],
  ['known hosts to ignore', repo('git@git.test:app.git', sshKey({ ...insecure, ...knownHosts })), /remove one of them/],
  ['verification without keys', { 'git.verify': { mode: 'head' } }, /specify their Secret in keysSecretRef/],
  ['a long time for a fetch', { 'git.timeout': '25h' }, /between 5s and 24h/],
  ['a short interval', { polling: { interval: '1s' } }, /between 5s and 24h/],
  ['an interval without a unit', { polling: { interval: '60' } }, /between 5s and 24h/],
  ['no profiles', { 'sync.profiles': {} }, /at least 1 properties/],
  [
    'a name of a profile',
    { 'sync.profiles': { Default_1: valid.sync.profiles.default } },
    /lower-case letters, digits/,
  ],
  ['a selector that is long in all', wavesOf(1, 1_025), /at most 1024 characters in total/],
  ...[0, '0%', '101%', '10', true].map(
    (amount): Refused => [
      `${JSON.stringify(amount)} gateways of a wave`,
      wavesWith(amount),
      /waves\[0\]\.gateways: Invalid value.*(?:should match|should be greater than or equal to 1|must be of type)/,
    ],
  ),
  ['no mappings', { 'sync.profiles.default.mappings': [] }, /at least 1 items/],
  [
    'many mappings',
    { 'sync.profiles.default.mappings': Array(65).fill({ source: 'a', destination: 'b' }) },
    /at most 64/,
  ],
  ['an absolute source', mapping({ source: '/etc/passwd' }), /remove the leading \//],
  ['a source that leaves the repository', mapping({ source: 'a/../../b' }), /remove \.\. from the path/],
  ['a destination that leaves the volume', mapping({ destination: '..' }), /remove \.\. from the path/],
  ["the agent's own directory", mapping({ destination: './.sync-agent/x' }), /keeps its own files/],
  ['a backslash in a path', mapping({ destination: 'a\\b' }), /backslashes/],
  ...['usr/share', '/', '/usr/', '//usr', '/usr/..', '/./usr'].map(
    (prefix): Refused => [
      `${prefix} as the target of links`,
      mapping({ links: 'keep', linkPrefixes: [prefix] }),
      /linkPrefixes\[0\] in body should match/,
    ],
  ),
  ['an unknown type of mapping', mapping({ type: 'link' }), /supported values: "dir", "file"/],
  ['a mode without quotes', mapping({ mode: 0o600 }), /mode in body must be of type string: "integer"/],
  ...['0200', '0602', '0606', '4755', '01600', '600', '0680', '0600\n'].map(
    (mode): Refused => [`the mode ${JSON.stringify(mode)}`, mapping({ mode }), MODE],
  ),
  ['a patch that sets nothing', patches({}), /at least 1 properties/],
  ['a long path in a patch', patches({ ['a.'.repeat(300)]: '1' }), /keys must have at most 512 characters/],
  ['a name of a variable', { 'sync.defaults': { vars: { 'a-b': 'x' } } }, /names of variables must consist/],
  ['a short sync period', { 'sync.defaults': { syncPeriod: 1 } }, /greater than or equal to 5/],
  ['a preset without the key that it needs', reload({ preset: 'ignition' }), /spec\.gateway\.api/],
  ['a port', { gateway: { port: 70_000 } }, /less than or equal to 65535/],
  ['many headers', requests(3, { headersFrom: headers(11) }), /at most 32 headers from Secrets/],
  [
    'many headers of reloads and checks',
    {
      'gateway.reload': { requests: Array(2).fill({ path: '/', headersFrom: headers(16) }) },
      'gateway.verify': { requests: [{ path: '/', headersFrom: headers(1) }] },
    },
    /at most 32 headers from Secrets/,
  ],
  ['a quantity', { agent: { resources: { limits: { cpu: '1'.repeat(65) } } } }, /may not be more than 64|Too long/],
  ['a name that no Secret has', { 'git.caSecretRef': { name: 'größe', key: 'k' } }, /should match/],
  ['a body that is longer than 8 KiB', requests(1, { body: 'x'.repeat(8_193) }), /may not be more than 8192/],
  ['a body of a GET request', requests(1, { method: 'GET', body: '' }), /a GET request has no body/],
  ['a body of a check without a method', verify({ body: 'x' }), /a GET request has no body/],
  ['a check that changes the gateway', verify({ method: 'PUT' }), /supported values: "GET", "POST"/],
  ['a check that expects nothing', verify({ expect: {} }), /specify json or contains/],
  ['a check for any text', verify({ expect: { contains: '' } }), /at least 1 chars/],
  ['a check of no value', verify({ expect: { json: [] } }), /specify json or contains/],
  ['a JSON Pointer without a slash', expectJson('result'), /should match/],
  ['a JSON Pointer with an unknown escape', expectJson('/a~2'), /should match/],
  ['a header with a line break', requests(1, { headers: [{ name: 'X-A', value: 'a\nb' }] }), /headers\[0\]\.value/],
  ['SIGKILL', reload({ signal: { name: 'SIGKILL', process: 'nginx' } }), /supported values: "SIGHUP"/],
  ['a signal without a process', reload({ signal: { name: 'SIGHUP' } }), /signal\.process: Required/],
  ['a host for a path', reload({ readyPath: '//elsewhere/' }), /exactly one leading \//],
];

const accepted: Accepted[] = [
  ['the least', {}],
  ...RANGES.map((semver): Accepted => [`the range ${JSON.stringify(semver)}`, range(semver)]),
  ...['site-', 'v', 'apps/site@', 's'.repeat(128)].map(
    (prefix): Accepted => [`the prefix ${prefix}`, range('*', prefix)],
  ),
  ['an ssh URL', repo('ssh://git@git.test:2222/app.git', sshKey())],
  ['a user in an https URL', repo('https://ORG@dev.azure.com/ORG/My%20Project/_git/app', token)],
  ['an escaped user', repo('https://gitlab%2Bdeploy%20token@git.test/app.git', token)],
  ['an e-mail address for a user', repo('https://me%40corp.test@git.test/app.git', token)],
  ['an IPv6 address and a port', repo('ssh://git@[2001:db8::1]:2222/app.git//', sshKey())],
  ['a port', repo('https://git.test:65535/app.git')],
  ['the scp form', repo('git@git.test:team/app.git', sshKey())],
  ['a host whose key is known', repo('git@git.test:app.git', sshKey(knownHosts))],
  ['a host whose key is ignored', repo('git@git.test:app.git', sshKey(insecure))],
  ['git://', repo('git://git.test/app.git')],
  ['repositories', repositories('org/repo', '{a,b}/c', '**/x', 'o/?', '~me/a+b.c', 'o/my%20r')],
  ['repositories of hosts', repositories('git.test:8443/Org/**', '{a,b}.test:80/x')],
  ['another resource as the source of requests', { 'webhook.from': 'hub.of-1' }],
  ['many repositories', repositories(...Array(64).fill('x'.repeat(64)))],
  ['globs', refs('v*', 'release/**', 'v[!0-9]?', '{a,b}', '1.0.0+b', 'a\\(b', 'a)', 'a|b')],
  ...[1, 10_000, '1%', '99%', '100%'].map(
    (amount): Accepted => [`${JSON.stringify(amount)} gateways of a wave`, wavesWith(amount)],
  ),
  ['many waves with long selectors', wavesOf(16, 1_024)],
  [
    'a body and plain headers',
    requests(8, {
      body: 'é'.repeat(8_192),
      headers: Array.from({ length: 16 }, (_, n) => ({ name: `X-${n}`, value: 'a b~' })),
    }),
  ],
  ['a signal', reload({ signal: { name: 'SIGUSR2', process: 'my server.sh' } })],
  ...['valid', 1.5, true, null].map((value): Accepted => [`the value ${value}`, expectJson('/a~1b/0', value)]),
  ['a check with a body', verify({ method: 'POST', body: '{}', headersFrom: headers(16), expect: { contains: 'ok' } })],
  ['headers', requests(2, { headersFrom: headers(16) })],
  ['resources', { 'agent.resources': { requests: { cpu: '50m', 'nvidia.com/gpu': 1 }, limits: { memory: '1Gi' } } }],
  ['a commit status', status({ context: 'plant/{{ .Cluster }}/{{.Namespace}}/{{ .Name }}' })],
  ['a commit status of a Forgejo', status({ provider: 'gitea' }, other)],
  ...[
    'https://org@dev.azure.com/org/My%20Project/_git/repo',
    'git@ssh.dev.azure.com:v3/org/project/repo',
    'https://org.visualstudio.com/project/_git/repo',
  ].map((url): Accepted => [`a commit status of ${url}`, status({}, url)]),
  ['a commit status of an Azure DevOps Server', status({ provider: 'azuredevops' }, other)],
  ['a commit status at a URL', status({ url: 'https://git.test:3000/git/api/v1' })],
  ['a hash', { 'git.ref': 'a'.repeat(40) }],
  ['a ref with unusual letters', { 'git.ref': 'feature/größe@2' }],
  ['a token', { 'git.auth': token, 'git.caSecretRef': { name: 'ca', key: 'ca.crt' } }],
  [
    'a GitHub App',
    { 'git.auth': { githubApp: { appId: 1, installationId: 2, privateKeySecretRef: { name: 's', key: 'k' } } } },
  ],
  ['a time for a fetch', { 'git.timeout': '90m' }],
  ['an interval of several parts', { polling: { enabled: true, interval: '1h30m' } }],
  ['the root as destination', mapping({ destination: '.' })],
  ['templates in paths', mapping({ source: 'gateways/{{ .GatewayName }}', destination: 'projects/{{ .Vars.site }}' })],
  ...['0400', '0640', '0664', '0775'].map((mode): Accepted => [`the mode ${mode}`, mapping({ mode })]),
  ['targets of links', mapping({ links: 'keep', linkPrefixes: ['/usr/share/nginx', '/.a/..b/...', '/a'] })],
  ['dots that lead nowhere', mapping({ source: 'a..b/...', destination: '..data' })],
  [
    'everything as large as it may be',
    {
      'sync.profiles': Object.fromEntries(
        Array.from({ length: 32 }, (_, n) => [
          `p${n}`,
          { mappings: Array(64).fill({ source: 'a'.repeat(512), destination: 'b'.repeat(512) }) },
        ]),
      ),
    },
  ],
  [
    'patches as large as they may be',
    patches(
      Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`${n}`.padEnd(512, 'k'), 'v'.repeat(512)])),
      16,
      'f'.repeat(512),
    ),
  ],
];

suite('the API server', () => {
  const post = (namespace: string, name: string, body: object) =>
    callApi<GatewaySync>({
      method: 'POST',
      path: gatewaySyncPath(namespace),
      query: { dryRun: 'All', fieldValidation: 'Strict' },
      body: { apiVersion: API_VERSION, kind: 'GatewaySync', metadata: { name, namespace }, spec: body },
    });

  test('rejects invalid resources with helpful messages', async (t) => {
    const namespace = await createNamespace(t);
    for (const [what, changes, words] of refused) {
      const isExplained = (error: Error) => {
        assert.match(error.message, words, what);
        return true;
      };
      await assert.rejects(post(namespace, 'x', spec(changes)), isExplained, what);
    }
  });

  test('accepts valid resources', async (t) => {
    const namespace = await createNamespace(t);
    for (const [what, changes] of accepted) {
      await assert.doesNotReject(post(namespace, 'x', spec(changes)), what);
    }
  });

  test('sets the defaults', async (t) => {
    const namespace = await createNamespace(t);
    const { spec: stored, status } = await post(namespace, 'x', valid);
    assert.deepEqual(status, { observedGeneration: -1 });
    assert.deepEqual(stored.polling, { enabled: true, interval: '60s' });
    assert.deepEqual(stored.webhook, { allowedRefs: [], repositories: [] });
    assert.equal(stored.paused, false);
    assert.equal(stored.git.submodules, false);
    assert.deepEqual(stored.sync.defaults, DEFAULT_SETTINGS);
    assert.deepEqual(stored.gateway, { port: 8088, tls: false });
  });

  test("rejects a name that doesn't fit into a RoleBinding", async (t) => {
    const namespace = await createNamespace(t);
    await assert.rejects(post(namespace, 'a'.repeat(64), valid), /may not be (?:more|longer) than 63/);
    await assert.doesNotReject(post(namespace, 'a'.repeat(63), valid));
  });

  test('shows the columns that users look for', async (t) => {
    const namespace = await createNamespace(t);
    const { kubectl } = await connectCluster();
    await apply({ apiVersion: API_VERSION, kind: 'GatewaySync', metadata: { name: 'new', namespace }, spec: valid });
    const listed = async (...options: string[]) =>
      (await kubectl('get', 'gatewaysyncs', '--namespace', namespace, ...options)).trim().split('\n');
    const [headings = '', row = ''] = await listed();
    assert.match(headings, /^NAME +REF +GATEWAYS +READY +STATUS +ROLLOUT +AGE$/);
    assert.match(row, /^new +\d+s$/, 'a controller has not seen it yet');
    const [wide = ''] = await listed('--output', 'wide');
    assert.match(wide, / AGE +COMMIT +PROFILES +LAST SYNC$/);
    const crd = JSON.parse(await kubectl('get', 'crd', 'gatewaysyncs.sync.io', '--output', 'json'));
    assert.equal(
      crd.status.conditions.find(({ type }: { type: string }) => type === 'NonStructuralSchema'),
      undefined,
    );
  });
});
