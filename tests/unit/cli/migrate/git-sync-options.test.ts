import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readOptions } from '../../../../cli/migrate/git-sync-options.ts';

/** Variables of options of each kind in the order of precedence, from main.go of git-sync 3.6, 4.7, and its main branch. */
// biome-ignore format: a table
const VARIABLES: [option: string, version4: string, version3: string][] = [
  ['repo', 'GITSYNC_REPO GIT_SYNC_REPO', 'GIT_SYNC_REPO'],
  ['ref', 'GITSYNC_REF', ''],
  ['branch', 'GIT_SYNC_BRANCH', 'GIT_SYNC_BRANCH'],
  ['link', 'GITSYNC_LINK GIT_SYNC_LINK', ''],
  ['init-period', 'GITSYNC_INIT_PERIOD', ''],
  ['one-time', 'GITSYNC_ONE_TIME GIT_SYNC_ONE_TIME', 'GIT_SYNC_ONE_TIME'],
  ['change-permissions', 'GIT_SYNC_PERMISSIONS', 'GIT_SYNC_PERMISSIONS'],
  ['sync-hook-command', 'GIT_SYNC_HOOK_COMMAND', 'GIT_SYNC_HOOK_COMMAND'],
  ['username', 'GITSYNC_USERNAME GIT_SYNC_USERNAME', 'GIT_SYNC_USERNAME'],
  ['ssh-key-file', 'GITSYNC_SSH_KEY_FILE GIT_SYNC_SSH_KEY_FILE GIT_SSH_KEY_FILE', 'GIT_SSH_KEY_FILE'],
  ['ssh-known-hosts', 'GITSYNC_SSH_KNOWN_HOSTS GIT_SYNC_KNOWN_HOSTS GIT_KNOWN_HOSTS', 'GIT_KNOWN_HOSTS'],
  ['ssh-known-hosts-file', 'GITSYNC_SSH_KNOWN_HOSTS_FILE GIT_SYNC_SSH_KNOWN_HOSTS_FILE GIT_SSH_KNOWN_HOSTS_FILE', 'GIT_SSH_KNOWN_HOSTS_FILE'],
  ['cookie-file', 'GITSYNC_COOKIE_FILE GIT_SYNC_COOKIE_FILE GIT_COOKIE_FILE', 'GIT_COOKIE_FILE'],
  ['askpass-url', 'GITSYNC_ASKPASS_URL GIT_SYNC_ASKPASS_URL GIT_ASKPASS_URL', 'GIT_ASKPASS_URL'],
  ['github-app-private-key', 'GITSYNC_GITHUB_APP_PRIVATE_KEY', ''],
  ['version', '', ''],
  ['verbose', 'GITSYNC_VERBOSE', ''],
  ['v', '', ''],
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
