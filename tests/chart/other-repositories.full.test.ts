import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FIELD_MANAGERS, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { annotationsOf, type Receiver, startReceiver } from '../integration/receiver/start-receiver.ts';
import { apply, connectCluster } from '../support/cluster.ts';
import { RELEASES } from '../support/deliveries.ts';
import { applyGatewaySync, untilGatewaySync, untilStatus } from '../support/gateway-syncs.ts';
import { serveRepository } from '../support/git-server-for.ts';
import { ENTRIES, SPELLINGS } from '../support/repositories.ts';
import { startController } from '../support/start-controller.ts';
import { installReceiverRights } from './support/install-receiver-rights.ts';

const sync = { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } };

/** Creates a GatewaySync and returns the policy's verdict on a delivery about a repository. */
async function judgeFor(
  { namespace, client }: { namespace: string; client: KubernetesClient },
  { name, repo, repositories = [] }: { name: string; repo: string; repositories?: string[] },
) {
  const spec = { git: { repo, ref: 'main' }, webhook: { repositories }, sync };
  await apply({ apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { namespace, name }, spec });
  const path = gatewaySyncPath(namespace, name);
  return async (kind: 'request' | 'push', recorded: string): Promise<'accepted' | 'foreign'> => {
    const { requestedRef, requestedRepo, pushedRef, pushedRepo } = REQUEST_ANNOTATIONS;
    const annotations =
      kind === 'request'
        ? { [requestedRef]: 'v1', [requestedRepo]: recorded }
        : { [pushedRef]: 'refs/heads/main', [pushedRepo]: recorded };
    const query = { fieldManager: FIELD_MANAGERS.receiver, dryRun: 'All' };
    const patch = client.mergePatch(path, { metadata: { annotations } }, { query });
    return await patch.then(
      () => 'accepted',
      (error: Error) => {
        assert.match(error.message, /: other repository: sync.io/);
        return 'foreign';
      },
    );
  };
}

test('the policy attributes a delivery to spec.git.repo exactly if the controller does', async (t) => {
  const rights = await installReceiverRights(t);
  let count = 0;
  for (const [own, spellings] of Object.entries(SPELLINGS))
    for (const repo of spellings) {
      const judge = await judgeFor(rights, { name: `own-${count++}`, repo });
      assert.equal(await judge('request', own), 'accepted', `${own} for ${repo}`);
      assert.equal(await judge('push', `x/y ${own}`), 'accepted', `${own} for ${repo}`);
      for (const other of [...Object.keys(SPELLINGS).filter((path) => path !== own), `${own}2`, `x/${own}`, 'x/y'])
        assert.equal(await judge(count % 2 ? 'request' : 'push', other), 'foreign', `${other} for ${repo}`);
    }
});

test('the policy reads spec.webhook.repositories as the controller does', async (t) => {
  const rights = await installReceiverRights(t);
  for (const [index, { entry, matches, others }] of ENTRIES.entries()) {
    const repositories = ['x/y', entry];
    const judge = await judgeFor(rights, { name: `other-${index}`, repo: 'https://git.test/org/repo', repositories });
    for (const path of matches) assert.equal(await judge('request', path), 'accepted', `${path} by ${entry}`);
    for (const path of others) assert.equal(await judge('push', path), 'foreign', `${path} by ${entry}`);
    for (const kind of ['request', 'push'] as const) assert.equal(await judge(kind, 'org/repo'), 'accepted');
  }
});

test('a delivery about another repository is rejected as such, even if it is older than the stored one', async (t) => {
  const { namespace, client } = await installReceiverRights(t);
  const { requestedAt, requestedRepo, pushedAt, pushedRepo } = REQUEST_ANNOTATIONS;
  const annotate = (annotations: Record<string, string>) =>
    client.mergePatch(
      gatewaySyncPath(namespace, 'demo'),
      { metadata: { annotations } },
      { query: { fieldManager: FIELD_MANAGERS.receiver } },
    );
  const [now, earlier] = [0, 60_000].map((ms) => new Date(Date.now() - ms).toISOString());
  await annotate({ [requestedAt]: `${now}`, [requestedRepo]: 'site', [pushedAt]: `${now}`, [pushedRepo]: '-' });
  await assert.rejects(
    annotate({ [requestedAt]: `${earlier}`, [requestedRepo]: 'x/y' }),
    /: other repository: sync\.io/,
  );
  await assert.rejects(annotate({ [pushedAt]: `${earlier}`, [pushedRepo]: 'x/y' }), /: other repository: sync\.io/);
  await assert.rejects(annotate({ [requestedAt]: `${earlier}`, [requestedRepo]: 'site' }), /: superseded: sync\.io/);
});

test('the policy stays within its cost limit for the longest spec, name, and list of repositories', async (t) => {
  const rights = await installReceiverRights(t);
  const long = 'x'.repeat(1024 - 'https://git.test/'.length - 3 * 296);
  const repo = `https://git.test/${'%41'.repeat(296)}${long}`;
  const entry = '**/{a,b}*?*?*?*?*?*?*?*?/';
  const repositories = Array.from({ length: 64 }, (_, n) => `${entry}${n}${'*a'.repeat(17)}`);
  const judge = await judgeFor(rights, { name: 'long', repo, repositories });
  assert.equal(await judge('request', `${'a/'.repeat(149)}ab`), 'foreign');
  assert.equal(await judge('push', `b${'a'.repeat(32)}/63${'a'.repeat(40)} ${'b'.repeat(200)}`), 'accepted');
});

/** A resource of a real repository, and the programs that serve it. */
async function startWorld(t: TestContext) {
  const { namespace, kubeconfig } = await installReceiverRights(t);
  const { repository, commit: main } = await serveRepository(t);
  await startController(t, namespace);
  const address = { namespace, name: 'app' };
  await applyGatewaySync(address, { repo: repository.url });
  await untilStatus(address, { lastSyncCommit: main });
  const receiver = await startReceiver(t, kubeconfig);
  const post: Receiver['post'] = (_target, body, headers) => receiver.post(`${namespace}/app`, body, headers);
  return { address, repository, post };
}

test("a release whose tag isn't visible yet is applied in the end, despite deliveries about other repositories", async (t) => {
  const { address, repository, post } = await startWorld(t);
  const own = { clone_url: repository.url };
  const release = { action: 'published', release: { tag_name: 'v2.0.0' }, repository: own };
  const github = { 'x-github-event': 'release' };
  assert.equal((await post('app', release, github)).status, 202);

  const foreign = Object.values(RELEASES);
  const sent = Array.from({ length: 50 }, (_, n) => {
    const { headers, body } = foreign[n % foreign.length] ?? assert.fail();
    return post('app', body, headers);
  });
  sent.push(post('app', { ref: 'refs/heads/main', repository: own }, { 'x-github-event': 'push' }));
  const answers = await Promise.all(sent);
  assert.equal(answers.pop()?.status, 202, 'its own push among them');
  for (const { status, body } of answers) assert.deepEqual([status, body.reason], [200, 'OtherRepository']);
  const annotations = await annotationsOf(await connectCluster(), address.namespace, address.name);
  assert.equal(annotations['sync.io/requested-ref'], 'v2.0.0');
  assert.equal(annotations['sync.io/requested-repo'], 'app');
  assert.equal(annotations['sync.io/pushed-repo'], 'app');

  const commit = await repository.commit({ files: { 'config/a': '3' } });
  await repository.tag('v2.0.0');
  await repository.commit({ files: { 'config/a': '4' } });
  // The push may have been answered between the commit and its tag.
  const { status } = await untilGatewaySync(
    address,
    'at v2.0.0',
    ({ status }) => status?.lastSyncCommit === commit && status.lastRequest?.outcome !== 'Pending',
  );
  const { outcome, repo } = status?.lastRequest ?? {};
  assert.deepEqual([outcome, repo, status?.lastPush?.repo], ['Applied', 'app', 'app']);
});
