import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readAzureDevOps } from '../../../../receiver/sources/azure-devops.ts';
import { classify } from '../../../../receiver/sources/classify.ts';
import type { Classified, NothingReason } from '../../../../receiver/sources/delivery.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';
import { isAcceptedRepository } from '../../../../shared/domain/git/delivered-repository.ts';
import { SPELLINGS } from '../../../support/repositories.ts';

const source = 'azuredevops';
const ignored = (reason: NothingReason): Classified => ({ kind: 'nothing', reason, source });
const madeAt = Date.parse('2014-05-02T19:17:13.330Z');
const request = (ref: string, fields: { pushedRef?: string } = {}): Classified => ({
  kind: 'request',
  ref,
  source,
  madeAt,
  ...fields,
});
const push = (ref: string): Classified => ({ kind: 'push', ref, source, madeAt });

const NONE = '0'.repeat(40);

/** As in https://learn.microsoft.com/azure/devops/service-hooks/events#code-pushed. */
const pushOf = (refUpdates: unknown, repository?: object) => ({
  subscriptionId: '00000000-0000-0000-0000-000000000000',
  notificationId: 1,
  id: '03c164c2-8912-4d5e-8009-3707d5f83734',
  eventType: 'git.push',
  publisherId: 'tfs',
  message: { text: 'Jamal Hartnett pushed updates to Fabrikam-Fiber-Git:master.' },
  resource: {
    commits: [{ commitId: '33b55f7cb7e7e245323987634f960cf4a6e6bc74', comment: 'Fixed bug in web.config file' }],
    refUpdates,
    repository,
    pushId: 14,
    date: '2014-05-02T19:17:13.3309587Z',
  },
  resourceVersion: '1.0',
  createdDate: '2014-05-02T19:17:13.3309587Z',
});
const updated = (name: unknown, newObjectId: unknown = '33b55f7cb7e7e245323987634f960cf4a6e6bc74') => ({
  name,
  oldObjectId: 'aad331d8d3b131fa9ae03cf5e53965b51942618a',
  newObjectId,
});
const invalid = (error: string): Classified => ({ kind: 'invalid', reason: 'InvalidPayload', error, source });

const cases: [string, JsonObject, Classified][] = [
  ['a push', pushOf([updated('refs/heads/main')]), push('refs/heads/main')],
  ['a pushed tag', pushOf([updated('refs/tags/v1')]), request('refs/tags/v1')],
  ['a deleted branch', pushOf([updated('refs/heads/old', NONE)]), ignored('Deleted')],
  [
    'a branch and a tag',
    pushOf([updated('refs/heads/main'), updated('refs/tags/v1')]),
    request('refs/tags/v1', { pushedRef: 'refs/heads/main' }),
  ],
  ['the first of several tags', pushOf([updated('refs/tags/a'), updated('refs/tags/b')]), request('refs/tags/a')],
  [
    'the highest version of several tags',
    pushOf(['b', 'v1.0.0', 'v1.10.0', 'a', 'v1.9.0', 'v1.10.0-rc.1'].map((tag) => updated(`refs/tags/${tag}`))),
    request('refs/tags/v1.10.0'),
  ],
  [
    'a push without a time of its own, with that of the event',
    { ...pushOf([]), resource: { refUpdates: [updated('refs/tags/v1')] } },
    request('refs/tags/v1'),
  ],
  [
    'a version without a prefix rather than one with it',
    pushOf(['site-v9.0.0', 'v1.0.0'].map((tag) => updated(`refs/tags/${tag}`))),
    request('refs/tags/v1.0.0'),
  ],
  ['the ref of a pull request', pushOf([updated('refs/pull/1/merge')]), ignored('NotABranchOrTag')],
  ['a push without refs', pushOf([]), ignored('NoRef')],
  ['a ref without a name', pushOf([updated(null)]), ignored('NoRef')],
  ['a hook that sends no details', { ...pushOf([]), resource: null }, ignored('NoRef')],
  ['a pull request', { ...pushOf([]), eventType: 'git.pullrequest.created' }, ignored('EventIgnored')],
  ["refs that aren't a list", pushOf('x'), invalid('resource.refUpdates: Array is expected')],
  ['a name of another type', pushOf([updated(7)]), invalid('resource.refUpdates.0.name: string is expected')],
];

suite('a delivery from Azure DevOps', () => {
  for (const [what, body, expected] of cases) test(what, () => assert.deepEqual(classify({}, body), expected));

  test('is recognized only by both its event and its publisher', () => {
    const { eventType, publisherId, ...rest } = pushOf([updated('refs/heads/main')]);
    for (const body of [
      rest,
      { ...rest, eventType },
      { ...rest, publisherId },
      { ...rest, eventType, publisherId: 1 },
      { ...rest, eventType: {}, publisherId },
    ])
      assert.equal(readAzureDevOps({}, body), undefined);
  });
});

suite('the repository of a delivery from Azure DevOps', () => {
  const recordedOf = (repository: object) => {
    const delivery = classify({}, pushOf([updated('refs/heads/main')], repository));
    assert.equal(delivery.kind, 'push');
    return ('repository' in delivery && delivery.repository) || '-';
  };
  const isOf = (recorded: string, repo: string) =>
    isAcceptedRepository(recorded, { git: { repo }, webhook: { repositories: [] } });
  const named = (project: string, name: string, remoteUrl: string) => ({ name, project: { name: project }, remoteUrl });

  test('is recognized in each spelling of spec.git.repo, and only there', () => {
    const recorded = recordedOf(named('project', 'repo', 'https://dev.azure.com/org/project/_git/repo'));
    assert.equal(recorded, 'org/project/repo');
    for (const [path, spellings] of Object.entries(SPELLINGS))
      for (const spelling of spellings) assert.equal(isOf(recorded, spelling), path === recorded, spelling);
  });

  test('can have spaces, escaped or not', () => {
    for (const space of [' ', '%20']) {
      const url = `https://dev.azure.com/org/My${space}Project/_git/my${space}repo`;
      const recorded = recordedOf(named('My Project', 'my repo', url));
      assert.ok(isOf(recorded, 'https://org@dev.azure.com/org/My%20Project/_git/my%20repo'), recorded);
      assert.ok(isOf(recorded, 'git@ssh.dev.azure.com:v3/org/My%20Project/my%20repo'), recorded);
      assert.ok(!isOf(recorded, 'https://org@dev.azure.com/org/My/_git/my%20repo'));
    }
  });

  test('is found in each spelling, older or not, with a project of the same name', () => {
    const urls = [
      'https://org@dev.azure.com/org/Plant%20A/_git/Plant%20A',
      'https://dev.azure.com/org/_git/Plant%20A',
      'https://dev.azure.com/org/DefaultCollection/_git/Plant%20A/',
      'https://org.visualstudio.com/DefaultCollection/Plant%20A/_git/Plant%20A',
      'https://org.visualstudio.com/DefaultCollection/_git/Plant A',
    ];
    for (const url of urls) {
      const recorded = recordedOf(named('Plant A', 'Plant A', url));
      for (const repo of urls) assert.ok(isOf(recorded, repo.replaceAll(' ', '%20')), `${url} in ${repo}: ${recorded}`);
      assert.ok(!isOf(recorded, 'https://dev.azure.com/other/Plant A/_git/Plant A'), recorded);
    }
  });

  test('keeps the collection of a server of your own', () => {
    const server = named('a', 'b', 'https://tfs.test/tfs/DefaultCollection/a/_git/b');
    assert.equal(recordedOf(server), 'tfs/defaultcollection/a/b');
  });

  test("isn't recorded if the payload doesn't name it", () => {
    for (const repository of [{}, { remoteUrl: null }, { remoteUrl: 7, name: 'a', project: { name: 'a' } }])
      assert.equal(recordedOf(repository), '-');
  });
});
