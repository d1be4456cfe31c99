import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { startPath } from '../../support/start-path.ts';
import { until } from '../../support/until.ts';

const pushOf = (name: string, repository: string) => ({
  eventType: 'git.push',
  publisherId: 'tfs',
  resource: {
    refUpdates: [{ name, oldObjectId: '0'.repeat(40), newObjectId: 'a'.repeat(40) }],
    repository: { remoteUrl: `https://dev.azure.com/org/${repository}` },
  },
});

test('a push to Azure DevOps reaches the disk, with the clone URL as the portal shows it', async (t) => {
  const world = await startPath(
    t,
    { 'config/a.txt': 'first' },
    {
      repositoryName: 'org/My Project/_git/my repo',
      // The user of the portal's URL is the organization.
      cloneUrl: (url) => url.replace('://', '://org@').replace(/\.git$/, ''),
    },
  );
  const untilContent = (content: string) =>
    until(() => readFile(path.join(world.data, 'config/a.txt'), 'utf8').catch(() => ''), {
      describe: `the file with ${content}`,
      accept: (text) => text === content,
    });
  await untilContent('first');
  await world.repository.tag('v1.0.0');
  await world.repository.commit({ files: { 'config/a.txt': 'second' } });
  assert.equal((await world.postPlain(pushOf('refs/heads/main', 'My%20Project/_git/my%20repo'))).status, 202);
  await untilContent('second');
  assert.equal((await world.postPlain(pushOf('refs/tags/v1.0.0', 'My%20Project/_git/other'))).status, 202);
  await untilGatewaySync(
    world.address,
    'ignored, because it is about another repository',
    ({ status }) => status?.lastRequest?.outcome === 'Ignored',
  );
  assert.equal((await world.postPlain(pushOf('refs/tags/v1.0.0', 'My%20Project/_git/my%20repo'))).status, 202);
  await untilContent('first');
  const ready = await untilGatewaySync(
    world.address,
    'applied',
    (resource) =>
      resource.status?.lastRequest?.outcome === 'Applied' && condition(resource, 'Ready')?.status === 'True',
  );
  const { by, ref } = ready.status?.lastRequest ?? {};
  assert.deepEqual([by, ref], ['azuredevops', 'refs/tags/v1.0.0']);
});
