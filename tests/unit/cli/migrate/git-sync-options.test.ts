import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readOptions } from '../../../../cli/migrate/git-sync-options.ts';

/** Variables of each option in the order of precedence, from main.go of git-sync 3.6, 4.7, and its main branch. */
// biome-ignore format: a table
const VARIABLES: [option: string, version4: string, version3: string][] = [
  ['repo', 'GITSYNC_REPO GIT_SYNC_REPO', 'GIT_SYNC_REPO'],
  ['ref', 'GITSYNC_REF', ''],
  ['branch', 'GIT_SYNC_BRANCH', 'GIT_SYNC_BRANCH'],
  ['rev', 'GIT_SYNC_REV', 'GIT_SYNC_REV'],
  ['depth', 'GITSYNC_DEPTH GIT_SYNC_DEPTH', 'GIT_SYNC_DEPTH'],
  ['filter', 'GITSYNC_FILTER', ''],
  ['submodules', 'GITSYNC_SUBMODULES GIT_SYNC_SUBMODULES', 'GIT_SYNC_SUBMODULES'],
  ['sparse-checkout-file', 'GITSYNC_SPARSE_CHECKOUT_FILE GIT_SYNC_SPARSE_CHECKOUT_FILE', 'GIT_SYNC_SPARSE_CHECKOUT_FILE'],
  ['root', 'GITSYNC_ROOT GIT_SYNC_ROOT', 'GIT_SYNC_ROOT'],
  ['link', 'GITSYNC_LINK GIT_SYNC_LINK', ''],
  ['dest', 'GIT_SYNC_DEST', 'GIT_SYNC_DEST'],
  ['error-file', 'GITSYNC_ERROR_FILE GIT_SYNC_ERROR_FILE', 'GIT_SYNC_ERROR_FILE'],
  ['period', 'GITSYNC_PERIOD GIT_SYNC_PERIOD', ''],
  ['init-period', 'GITSYNC_INIT_PERIOD', ''],
  ['wait', 'GIT_SYNC_WAIT', 'GIT_SYNC_WAIT'],
  ['sync-timeout', 'GITSYNC_SYNC_TIMEOUT GIT_SYNC_SYNC_TIMEOUT', ''],
  ['timeout', 'GIT_SYNC_TIMEOUT', 'GIT_SYNC_TIMEOUT'],
  ['one-time', 'GITSYNC_ONE_TIME GIT_SYNC_ONE_TIME', 'GIT_SYNC_ONE_TIME'],
  ['sync-on-signal', 'GITSYNC_SYNC_ON_SIGNAL GIT_SYNC_SYNC_ON_SIGNAL', ''],
  ['max-failures', 'GITSYNC_MAX_FAILURES GIT_SYNC_MAX_FAILURES', ''],
  ['init-max-failures', 'GITSYNC_INIT_MAX_FAILURES', ''],
  ['max-sync-failures', 'GIT_SYNC_MAX_SYNC_FAILURES', 'GIT_SYNC_MAX_SYNC_FAILURES'],
  ['touch-file', 'GITSYNC_TOUCH_FILE GIT_SYNC_TOUCH_FILE', ''],
  ['add-user', 'GITSYNC_ADD_USER GIT_SYNC_ADD_USER', 'GIT_SYNC_ADD_USER'],
  ['group-write', 'GITSYNC_GROUP_WRITE GIT_SYNC_GROUP_WRITE', ''],
  ['change-permissions', 'GIT_SYNC_PERMISSIONS', 'GIT_SYNC_PERMISSIONS'],
  ['stale-worktree-timeout', 'GITSYNC_STALE_WORKTREE_TIMEOUT', ''],
  ['exechook-command', 'GITSYNC_EXECHOOK_COMMAND GIT_SYNC_EXECHOOK_COMMAND', 'GIT_SYNC_EXECHOOK_COMMAND'],
  ['exechook-timeout', 'GITSYNC_EXECHOOK_TIMEOUT GIT_SYNC_EXECHOOK_TIMEOUT', 'GIT_SYNC_EXECHOOK_TIMEOUT'],
  ['exechook-backoff', 'GITSYNC_EXECHOOK_BACKOFF GIT_SYNC_EXECHOOK_BACKOFF', 'GIT_SYNC_EXECHOOK_BACKOFF'],
  ['pre-publish-exechook-command', 'GITSYNC_PRE_PUBLISH_EXECHOOK_COMMAND', ''],
  ['pre-publish-exechook-timeout', 'GITSYNC_PRE_PUBLISH_EXECHOOK_TIMEOUT', ''],
  ['pre-publish-exechook-backoff', 'GITSYNC_PRE_PUBLISH_EXECHOOK_BACKOFF', ''],
  ['sync-hook-command', 'GIT_SYNC_HOOK_COMMAND', 'GIT_SYNC_HOOK_COMMAND'],
  ['hooks-async', 'GITSYNC_HOOKS_ASYNC GIT_SYNC_HOOKS_ASYNC', ''],
  ['hooks-before-symlink', 'GITSYNC_HOOKS_BEFORE_SYMLINK GIT_SYNC_HOOKS_BEFORE_SYMLINK', ''],
  ['webhook-url', 'GITSYNC_WEBHOOK_URL GIT_SYNC_WEBHOOK_URL', 'GIT_SYNC_WEBHOOK_URL'],
  ['webhook-method', 'GITSYNC_WEBHOOK_METHOD GIT_SYNC_WEBHOOK_METHOD', 'GIT_SYNC_WEBHOOK_METHOD'],
  ['webhook-success-status', 'GITSYNC_WEBHOOK_SUCCESS_STATUS GIT_SYNC_WEBHOOK_SUCCESS_STATUS', 'GIT_SYNC_WEBHOOK_SUCCESS_STATUS'],
  ['webhook-timeout', 'GITSYNC_WEBHOOK_TIMEOUT GIT_SYNC_WEBHOOK_TIMEOUT', 'GIT_SYNC_WEBHOOK_TIMEOUT'],
  ['webhook-backoff', 'GITSYNC_WEBHOOK_BACKOFF GIT_SYNC_WEBHOOK_BACKOFF', 'GIT_SYNC_WEBHOOK_BACKOFF'],
  ['username', 'GITSYNC_USERNAME GIT_SYNC_USERNAME', 'GIT_SYNC_USERNAME'],
  ['password', 'GITSYNC_PASSWORD GIT_SYNC_PASSWORD', 'GIT_SYNC_PASSWORD'],
  ['password-file', 'GITSYNC_PASSWORD_FILE GIT_SYNC_PASSWORD_FILE', 'GIT_SYNC_PASSWORD_FILE'],
  ['credential', 'GITSYNC_CREDENTIAL GIT_SYNC_CREDENTIAL', ''],
  ['ssh', 'GITSYNC_SSH GIT_SYNC_SSH', 'GIT_SYNC_SSH'],
  ['ssh-key-file', 'GITSYNC_SSH_KEY_FILE GIT_SYNC_SSH_KEY_FILE GIT_SSH_KEY_FILE', 'GIT_SSH_KEY_FILE'],
  ['ssh-known-hosts', 'GITSYNC_SSH_KNOWN_HOSTS GIT_SYNC_KNOWN_HOSTS GIT_KNOWN_HOSTS', 'GIT_KNOWN_HOSTS'],
  ['ssh-known-hosts-file', 'GITSYNC_SSH_KNOWN_HOSTS_FILE GIT_SYNC_SSH_KNOWN_HOSTS_FILE GIT_SSH_KNOWN_HOSTS_FILE', 'GIT_SSH_KNOWN_HOSTS_FILE'],
  ['cookie-file', 'GITSYNC_COOKIE_FILE GIT_SYNC_COOKIE_FILE GIT_COOKIE_FILE', 'GIT_COOKIE_FILE'],
  ['askpass-url', 'GITSYNC_ASKPASS_URL GIT_SYNC_ASKPASS_URL GIT_ASKPASS_URL', 'GIT_ASKPASS_URL'],
  ['github-base-url', 'GITSYNC_GITHUB_BASE_URL', ''],
  ['github-app-private-key', 'GITSYNC_GITHUB_APP_PRIVATE_KEY', ''],
  ['github-app-private-key-file', 'GITSYNC_GITHUB_APP_PRIVATE_KEY_FILE', ''],
  ['github-app-client-id', 'GITSYNC_GITHUB_APP_CLIENT_ID', ''],
  ['github-app-application-id', 'GITSYNC_GITHUB_APP_APPLICATION_ID', ''],
  ['github-app-installation-id', 'GITSYNC_GITHUB_APP_INSTALLATION_ID', ''],
  ['git', 'GITSYNC_GIT GIT_SYNC_GIT', 'GIT_SYNC_GIT'],
  ['git-config', 'GITSYNC_GIT_CONFIG GIT_SYNC_GIT_CONFIG', 'GIT_SYNC_GIT_CONFIG'],
  ['git-config-add', 'GITSYNC_GIT_CONFIG_ADD', ''],
  ['git-gc', 'GITSYNC_GIT_GC GIT_SYNC_GIT_GC', 'GIT_SYNC_GIT_GC'],
  ['http-bind', 'GITSYNC_HTTP_BIND GIT_SYNC_HTTP_BIND', 'GIT_SYNC_HTTP_BIND'],
  ['http-metrics', 'GITSYNC_HTTP_METRICS GIT_SYNC_HTTP_METRICS', 'GIT_SYNC_HTTP_METRICS'],
  ['http-pprof', 'GITSYNC_HTTP_PPROF GIT_SYNC_HTTP_PPROF', 'GIT_SYNC_HTTP_PPROF'],
  ['version', '', ''],
  ['help', '', ''],
  ['man', '', ''],
  ['verbose', 'GITSYNC_VERBOSE', ''],
  ['v', '', ''],
  ['logtostderr', '', ''],
  ['alsologtostderr', '', ''],
];
const IMAGES = { 4: 'registry.k8s.io/git-sync/git-sync:v4.7.1', 3: 'k8s.gcr.io/git-sync-amd64:v3.6.5' } as const;
const all = new Set(VARIABLES.flatMap(([, four, three]) => `${four} ${three}`.split(' ')).filter(Boolean));
const listOf = (text: string) => text.split(' ').filter(Boolean);

function read(version: 3 | 4, variables: Iterable<string>) {
  const env = [...variables].map((name) => ({ name, value: `of ${name}` }));
  const options = readOptions({ name: 'sync', image: IMAGES[version], env });
  assert.ok(!('kind' in options));
  return options;
}

suite('the options of git-sync', () => {
  for (const version of [4, 3] as const) {
    test(`are read from the variables of version ${version}`, () => {
      const known = new Set<string>();
      for (const [option, ...lists] of VARIABLES) {
        const variables = listOf(lists[version === 4 ? 0 : 1]);
        variables.forEach((name, index) => {
          known.add(name);
          assert.deepEqual(read(version, variables.slice(index)).settings.get(option), {
            kind: 'value',
            value: `of ${name}`,
            by: `the variable ${name}`,
          });
        });
        if (variables.length === 0) assert.equal(read(version, all).settings.get(option), undefined, option);
        const upper = option.toUpperCase().replaceAll('-', '_');
        for (const name of [`GITSYNC_${upper}`, `GIT_SYNC_${upper}`]) {
          if (!variables.includes(name)) assert.equal(read(version, [name]).settings.get(option), undefined, name);
        }
      }
      const ours = [...all].filter((name) => /^GIT_?SYNC_/.test(name) && !known.has(name));
      const { foreign, unknown } = read(version, all);
      assert.deepEqual(foreign.sort(), ours.sort(), 'those of the other version are named');
      assert.deepEqual(unknown, []);
    });
  }
});
