import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readGitSync } from '../../../../cli/migrate/git-sync.ts';
import type { Container, PodSpec } from '../../../../cli/migrate/manifest.ts';
import { linesOf, REPO } from './pods.ts';

/** Flags of git-sync 4.4 with a valid value, from main.go in https://github.com/kubernetes/git-sync. */
const V4 = `--version --help --man -v=1 --verbose=1 --ref=main --depth=1 --submodules=off --sparse-checkout-file=/x
  --root=/git --link=site --error-file=e --period=1m --sync-timeout=2m --one-time --sync-on-signal=SIGHUP
  --max-failures=3 --touch-file=t --add-user --group-write --stale-worktree-timeout=1m --exechook-command=/x
  --exechook-timeout=1s --exechook-backoff=1s --webhook-url=http://localhost:80/ --webhook-method=GET
  --webhook-success-status=200 --webhook-timeout=1s --webhook-backoff=1s --username=bot --password-file=/etc/access/t
  --ssh-key-file=/etc/access/ssh --ssh-known-hosts --ssh-known-hosts-file=/etc/access/kh --cookie-file
  --askpass-url=http://localhost/ --github-base-url=https://ghe.example.com/ --github-app-private-key-file=/etc/access/k
  --github-app-client-id=x --github-app-application-id=1 --github-app-installation-id=2 --git=git --git-config=a:b
  --git-gc=auto --http-bind=:80 --http-metrics --http-pprof --branch=main --change-permissions=0777 --dest=site
  --max-sync-failures=3 --rev=HEAD --ssh --sync-hook-command=/x --timeout=10 --wait=10`;

/** Flags added in 4.5 to 4.7 and on the main branch. */
const SINCE = `--init-period=1s --init-max-failures=3 --filter=blob:none --pre-publish-exechook-command=/check
  --pre-publish-exechook-timeout=1s --pre-publish-exechook-backoff=1s --git-config-add=a:b`;

const spec: PodSpec = {
  containers: [],
  volumes: [{ name: 'html' }, { name: 'access', secret: { secretName: 'access' } }],
};

const mounts = [
  { name: 'html', mountPath: '/git' },
  { name: 'access', mountPath: '/etc/access' },
];

const container = (fields: Partial<Container>): Container => ({
  name: 'sync',
  image: 'registry.k8s.io/git-sync/git-sync:v4.7.1',
  volumeMounts: mounts,
  ...fields,
});

function notesOf(fields: Partial<Container>): string {
  const found = readGitSync(container(fields), spec);
  return found.kind === 'source' ? linesOf(found.notes).join('\n') : `${found.kind}: ${found.why}`;
}

suite('kubectl stoker migrate', () => {
  for (const flag of `${V4} ${SINCE}`.split(/\s+/))
    test(`knows the git-sync flag ${flag}`, () => {
      assert.doesNotMatch(notesOf({ args: [REPO, '--period=1m', flag] }), /does not know|does not have|no option/);
    });
});

suite('the notes of kubectl stoker migrate', () => {
  test('mention that files are no longer checked before they are published', () => {
    const notes = notesOf({ args: [REPO, '--pre-publish-exechook-command=/hooks/check.sh --token hunter2'] });
    assert.match(notes, /^todo: --pre-publish-exechook-command \/hooks\/check\.sh /m);
    assert.doesNotMatch(notes, /hunter2/);
  });

  test('list unknown options as unknown, instead of as meaningless', () => {
    const env = [{ name: 'GITSYNC_TELEPORT', value: 'x' }];
    const notes = notesOf({ args: [REPO, '--warp-speed=9'], env });
    assert.match(notes, /^todo: .*: --warp-speed, GITSYNC_TELEPORT; /m);
  });

  test('mention variables that configured git itself, even without certificate verification', () => {
    const variables = ['GIT_SSL_NO_VERIFY', 'GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'TZ'];
    const notes = notesOf({ args: [REPO], env: variables.map((name) => ({ name, value: '1' })) });
    assert.match(notes, /^todo: GIT_SSL_NO_VERIFY, GIT_SSH_COMMAND, GIT_CONFIG_COUNT /m);
    assert.match(notes, /^dropped: .*: TZ$/m);
  });
});

suite('credentials of git-sync', () => {
  const URL = '"url":"https://git.example.com","username":"bot"';

  test('count as free of passwords if they name a file', () => {
    const credential = `{${URL},"password-file":"/etc/access/token"}`;
    const expected = /^stays: --credential /;
    assert.match(notesOf({ args: [REPO, `--credential=${credential}`] }), expected);
    assert.match(notesOf({ args: [REPO, '--credential', `[${credential}]`] }), expected);
    assert.match(notesOf({ args: [REPO], env: [{ name: 'GITSYNC_CREDENTIAL', value: credential }] }), expected);
  });

  test('are rejected if they contain a password, in any place', () => {
    const secret = `{${URL}, "password" : "hunter2"}`;
    const file = `{${URL},"password-file":"/etc/access/token"}`;
    const capital = `{${URL},"Password":"hunter2"}`;
    for (const args of [
      [`--credential=${secret}`],
      ['--credential', `[${file},${secret}]`],
      [`--credential=${capital}`],
    ]) {
      assert.match(notesOf({ args: [REPO, ...args] }), /^refused: .*password/);
    }
    assert.match(notesOf({ args: [REPO, `--credential=${secret}`, `--credential=${file}`] }), /^refused: /);
    assert.match(notesOf({ args: [REPO], env: [{ name: 'GITSYNC_CREDENTIAL', value: secret }] }), /^refused: /);
    assert.match(notesOf({ command: ['sh', '-c', `git-sync --credential='${secret}'`] }), /^refused: /);
  });

  test('with several SSH keys are all listed, and one is used', () => {
    const repo = '--repo=git@git.example.com:acme/site.git';
    const several = /^todo: .* 2 .* spec\.git\.auth\.sshKey .*: \/etc\/other\/ssh$/m;
    for (const fields of [
      { args: [repo, '--ssh-key-file=/etc/other/ssh', '--ssh-key-file=/etc/access/ssh'] },
      { args: [repo], env: [{ name: 'GITSYNC_SSH_KEY_FILE', value: '/etc/other/ssh:/etc/access/ssh' }] },
    ]) {
      const found = readGitSync(container(fields), spec);
      assert.ok(found.kind === 'source');
      assert.deepEqual(found.git.auth?.sshKey?.secretRef, { name: 'access', key: 'ssh' });
      assert.match(linesOf(found.notes).join('\n'), several);
      assert.doesNotMatch(linesOf(found.notes).join('\n'), /private key/);
    }
  });
});
