import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { destinationOf } from '../../../../controller/commit-status/destination.ts';
import type { GatewaySyncSpec } from '../../../../shared/api/gateway-sync.ts';
import { resource } from './resource.ts';

type Git = Partial<GatewaySyncSpec['git']>;
type Wish = Partial<NonNullable<GatewaySyncSpec['git']['commitStatus']>>;

function destination(git: Git, wish: Wish = {}, cluster = 'oslo') {
  const commitStatus = { context: '{{ .Cluster }}/{{ .Namespace }}/{{ .Name }}', secretRef: { name: 's', key: 'k' } };
  return destinationOf(resource({ ...git, commitStatus: { ...commitStatus, ...wish } }), cluster);
}

/** The provider, the API, and the project, or the problem. */
function where(...parameters: Parameters<typeof destination>): string | undefined {
  const placed = destination(...parameters);
  if (placed?.kind !== 'destination') return placed?.reason;
  const { provider, api, project } = placed.destination;
  return `${provider} ${api} ${project.join(' ')}`;
}

const app = (apiBaseURL: string) => ({
  githubApp: { appId: 1, installationId: 2, privateKeySecretRef: { name: 's', key: 'k' }, apiBaseURL },
});

const gitea = { provider: 'gitea' } as const;
const github = { provider: 'github' } as const;
const gitlab = { provider: 'gitlab' } as const;
const azuredevops = { provider: 'azuredevops' } as const;
const azure = 'azuredevops https://dev.azure.com/org My Project my repo';

/** The repository, the provider and the API in the spec, and the result. */
const cases: [repo: string, wish: Wish, expected: string][] = [
  ['https://github.com/plant/config.git', {}, 'github https://api.github.com plant config'],
  ['ssh://git@ssh.github.com:443/plant/config', {}, 'github https://api.github.com plant config'],
  ['https://git.test/plant/config', github, 'github https://git.test/api/v3 plant config'],
  ['https://plant.ghe.com/plant/config', github, 'github https://api.plant.ghe.com plant config'],
  ['https://gitlab.com/plant/lines/config.git/', {}, 'gitlab https://gitlab.com/api/v4 plant lines config'],
  ['ssh://git@git.test:2222/plant/config.git', gitlab, 'gitlab https://git.test/api/v4 plant config'],
  [
    'https://git.test/gitlab/plant/config',
    { ...gitlab, url: 'https://git.test/gitlab/api/v4' },
    'gitlab https://git.test/gitlab/api/v4 plant config',
  ],
  ['https://git.test:3000/git/plant/config.git', gitea, 'gitea https://git.test:3000/git/api/v1 plant config'],
  ['ssh://git@codeberg.org/plant/config.git', {}, 'gitea https://codeberg.org/api/v1 plant config'],
  ['ssh://git@[fd00::1]:22/a/b', gitea, 'gitea https://[fd00::1]/api/v1 a b'],
  ['http://git.test/a/b.git', { ...gitea, url: 'https://git.test/api/v1/' }, 'gitea https://git.test/api/v1 a b'],
  ['git@bitbucket.org:plant/config.git', {}, 'bitbucket https://api.bitbucket.org/2.0 plant config'],
  ['https://dev.azure.com/org/My%20Project/_git/my%20repo', {}, azure],
  ['git@ssh.dev.azure.com:v3/org/My%20Project/my%20repo', {}, azure],
  ['org@vs-ssh.visualstudio.com:v3/org/My%20Project/my%20repo', {}, azure],
  ['https://dev.azure.com/org/_git/repo', {}, 'azuredevops https://dev.azure.com/org repo repo'],
  ['https://org.visualstudio.com/a/_git/b', {}, 'azuredevops https://org.visualstudio.com a b'],
  [
    'https://org.visualstudio.com/DefaultCollection/_git/b',
    {},
    'azuredevops https://org.visualstudio.com/DefaultCollection b b',
  ],
  ['https://tfs.test:8443/tfs/My%20C/a/_git/b', azuredevops, 'azuredevops https://tfs.test:8443/tfs/My%20C a b'],
  [
    'ssh://tfs.test:22/tfs/c/a/_git/b',
    { ...azuredevops, url: 'https://api.test/tfs/c' },
    'azuredevops https://api.test/tfs/c a b',
  ],
];

const invalid: [what: string, repo: string | undefined, wish?: Wish][] = [
  ['an unknown host', 'https://git.test/plant/config'],
  ['an unknown API', 'https://git.test/a/b', { provider: 'bitbucket' }],
  ['a repository without TLS', 'http://git.test/plant/config', gitea],
  ['a path that leads up', 'git@github.com:../config'],
  ['an escaped path that leads up', 'https://gitlab.com/a/%2e%2e/b'],
  ['half an escape', 'https://github.com/a/%zz'],
  ['no owner', 'https://github.com/config'],
  ['too many owners', 'https://github.com/a/b/c'],
  ['a path of another service of Azure DevOps', 'https://dev.azure.com/org/project/repo'],
  ['too long a path in Azure DevOps', 'https://dev.azure.com/org/project/more/_git/repo'],
  ['too long a path in an older organization', 'https://org.visualstudio.com/a/b/_git/repo'],
  ['too short a path over SSH', 'git@ssh.dev.azure.com:v3/org/repo'],
  ['too long a path over SSH', 'git@ssh.dev.azure.com:v3/org/project/repo/more'],
  ['credentials in the URL of the API', undefined, { url: 'https://me:secret@git.test/api/v3' }],
  ['a URL of the API without TLS', undefined, { url: 'http://git.test/api/v3' }],
  ['a query in the URL of the API', undefined, { url: 'https://git.test/api?x=' }],
];

suite('the destination of a commit status', () => {
  for (const [repo, wish, expected] of cases)
    test(`for ${repo} is ${expected}`, () => assert.equal(where({ repo }, wish), expected));

  test('for a GitHub App is its API', () => {
    const git = { repo: 'https://git.test/plant/config', auth: app('https://git.test/api/v3/') };
    assert.equal(where(git), 'github https://git.test/api/v3 plant config');
  });

  for (const [what, repo, wish] of invalid)
    test(`is invalid with ${what}`, () => assert.equal(where(repo ? { repo } : {}, wish), 'CommitStatusInvalid'));

  test('is missing if none is configured', () => {
    const { commitStatus: _, ...git } = resource().spec.git;
    assert.equal(destinationOf({ ...resource(), spec: { ...resource().spec, git } }, 'oslo'), undefined);
  });

  test('gets its name from the template, and from another template', () => {
    const one = destination({});
    const other = destination({}, { context: 'plant/{{ .Cluster }}' });
    assert.ok(one?.kind === 'destination' && other?.kind === 'destination');
    assert.equal(one.destination.context, 'oslo/gateways/plant');
    assert.equal(other.destination.context, 'plant/oslo');
  });

  test('needs the name of the cluster only if the template contains it', () => {
    assert.equal(where({}, {}, ''), 'ClusterNameMissing');
    assert.equal(where({}, { context: 'plant' }, ''), 'github https://api.github.com plant config');
  });

  test('has a name that no git server truncates', () => {
    assert.equal(where({}, { context: '{{ .Cluster }}'.repeat(10) }, 'c'.repeat(63)), 'CommitStatusInvalid');
  });
});
