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

const app = (apiBaseURL?: string) => ({
  githubApp: {
    appId: 1,
    installationId: 2,
    privateKeySecretRef: { name: 's', key: 'k' },
    ...(apiBaseURL && { apiBaseURL }),
  },
});

const cases: [what: string, git: Git, wish: Wish, expected: string][] = [
  ['GitHub', { repo: 'https://github.com/plant/config.git' }, {}, 'github https://api.github.com plant config'],
  [
    'GitHub by ssh over 443',
    { repo: 'ssh://git@ssh.github.com:443/plant/config' },
    {},
    'github https://api.github.com plant config',
  ],
  [
    'a GitHub Enterprise Server',
    { repo: 'https://git.test/plant/config' },
    { provider: 'github' },
    'github https://git.test/api/v3 plant config',
  ],
  [
    'GitHub with data residency',
    { repo: 'https://plant.ghe.com/plant/config' },
    { provider: 'github' },
    'github https://api.plant.ghe.com plant config',
  ],
  [
    'a GitHub App at its own API',
    { repo: 'https://git.test/plant/config', auth: app('https://git.test/api/v3/') },
    {},
    'github https://git.test/api/v3 plant config',
  ],
  [
    'GitLab with groups',
    { repo: 'https://gitlab.com/plant/lines/config.git/' },
    {},
    'gitlab https://gitlab.com/api/v4 plant lines config',
  ],
  [
    'a GitLab by ssh at another port',
    { repo: 'ssh://git@git.test:2222/plant/config.git' },
    { provider: 'gitlab' },
    'gitlab https://git.test/api/v4 plant config',
  ],
  [
    'a GitLab below a path',
    { repo: 'https://git.test/gitlab/plant/config' },
    { provider: 'gitlab', url: 'https://git.test/gitlab/api/v4' },
    'gitlab https://git.test/gitlab/api/v4 plant config',
  ],
  [
    'a Gitea below a path, at a port',
    { repo: 'https://git.test:3000/git/plant/config.git' },
    { provider: 'gitea' },
    'gitea https://git.test:3000/git/api/v1 plant config',
  ],
  [
    'Codeberg',
    { repo: 'ssh://git@codeberg.org/plant/config.git' },
    {},
    'gitea https://codeberg.org/api/v1 plant config',
  ],
  [
    'Bitbucket',
    { repo: 'git@bitbucket.org:plant/config.git' },
    {},
    'bitbucket https://api.bitbucket.org/2.0 plant config',
  ],
  ...[
    'https://dev.azure.com/org/My%20Project/_git/my%20repo',
    'git@ssh.dev.azure.com:v3/org/My%20Project/my%20repo',
    'org@vs-ssh.visualstudio.com:v3/org/My%20Project/my%20repo',
  ].map((repo): (typeof cases)[number] => [
    repo,
    { repo },
    {},
    'azuredevops https://dev.azure.com/org My Project my repo',
  ]),
  [
    'a repository of Azure DevOps with the name of its project',
    { repo: 'https://dev.azure.com/org/_git/repo' },
    {},
    'azuredevops https://dev.azure.com/org repo repo',
  ],
  [
    'an older address of Azure DevOps',
    { repo: 'https://org.visualstudio.com/project/_git/repo' },
    {},
    'azuredevops https://org.visualstudio.com project repo',
  ],
  [
    'an older address of Azure DevOps with its collection',
    { repo: 'https://org.visualstudio.com/DefaultCollection/_git/repo' },
    {},
    'azuredevops https://org.visualstudio.com/DefaultCollection repo repo',
  ],
  [
    'an Azure DevOps Server',
    { repo: 'https://tfs.test:8443/tfs/Default%20Collection/project/_git/repo' },
    { provider: 'azuredevops' },
    'azuredevops https://tfs.test:8443/tfs/Default%20Collection project repo',
  ],
  [
    'an Azure DevOps Server with its API at another address',
    { repo: 'ssh://tfs.test:22/tfs/c/project/_git/repo' },
    { provider: 'azuredevops', url: 'https://api.test/tfs/c' },
    'azuredevops https://api.test/tfs/c project repo',
  ],
  ...[
    'https://dev.azure.com/org/project/repo',
    'https://dev.azure.com/org/project/more/_git/repo',
    'https://org.visualstudio.com/a/b/_git/repo',
    'git@ssh.dev.azure.com:v3/org/repo',
    'git@ssh.dev.azure.com:v3/org/project/repo/more',
  ].map((repo): (typeof cases)[number] => [`another path: ${repo}`, { repo }, {}, 'CommitStatusInvalid']),
  [
    'a repository without TLS whose API has it',
    { repo: 'http://git.test/plant/config.git' },
    { provider: 'gitea', url: 'https://git.test/api/v1/' },
    'gitea https://git.test/api/v1 plant config',
  ],
  ['a host that nobody knows', { repo: 'https://git.test/plant/config' }, {}, 'CommitStatusInvalid'],
  ['an API that nobody knows', { repo: 'https://git.test/a/b' }, { provider: 'bitbucket' }, 'CommitStatusInvalid'],
  ['no TLS', { repo: 'http://git.test/plant/config' }, { provider: 'gitea' }, 'CommitStatusInvalid'],
  ['a path that leads up', { repo: 'git@github.com:../config' }, {}, 'CommitStatusInvalid'],
  ['an escaped path that leads up', { repo: 'https://gitlab.com/a/%2e%2e/b' }, {}, 'CommitStatusInvalid'],
  ['half an escape', { repo: 'https://github.com/a/%zz' }, {}, 'CommitStatusInvalid'],
  ['no owner', { repo: 'https://github.com/config' }, {}, 'CommitStatusInvalid'],
  ['too many owners', { repo: 'https://github.com/a/b/c' }, {}, 'CommitStatusInvalid'],
  ['credentials in the URL', {}, { url: 'https://me:secret@git.test/api/v3' }, 'CommitStatusInvalid'],
  ['a URL without TLS', {}, { url: 'http://git.test/api/v3' }, 'CommitStatusInvalid'],
  ['a query in the URL', {}, { url: 'https://git.test/api?x=' }, 'CommitStatusInvalid'],
];

suite('the destination of a commit status', () => {
  for (const [what, git, wish, expected] of cases)
    test(`is known for ${what}`, () => assert.equal(where(git, wish), expected));

  test('is missing if none is configured', () => {
    const { commitStatus: _, ...git } = resource().spec.git;
    assert.equal(destinationOf({ ...resource(), spec: { ...resource().spec, git } }, 'oslo'), undefined);
  });

  test('gets its name from the template, and is another destination under another name', () => {
    const one = destination({});
    const other = destination({}, { context: 'plant/{{ .Cluster }}' });
    assert.ok(one?.kind === 'destination' && other?.kind === 'destination');
    assert.equal(one.destination.context, 'oslo/gateways/plant');
    assert.equal(other.destination.context, 'plant/oslo');
    assert.notEqual(one.destination.target, other.destination.target);
  });

  test('needs the name of the cluster only if the template contains it', () => {
    assert.equal(where({}, {}, ''), 'ClusterNameMissing');
    assert.equal(where({}, { context: 'plant' }, ''), 'github https://api.github.com plant config');
  });

  test('has a name that no git server truncates', () => {
    assert.equal(where({}, { context: '{{ .Cluster }}'.repeat(10) }, 'c'.repeat(63)), 'CommitStatusInvalid');
  });
});
