/** A delivery as a sender makes it: the headers with the event, and the body. */
export interface SentDelivery {
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

const project = {
  name: 'Repo',
  web_url: 'https://gitlab.test/Org/repo',
  git_ssh_url: 'git@gitlab.test:Org/repo.git',
  git_http_url: 'https://gitlab.test/Org/repo.git',
  path_with_namespace: 'Org/repo',
  default_branch: 'main',
};
const repository = {
  full_name: 'Org/repo',
  html_url: 'https://git.test/Org/repo',
  url: 'https://api.git.test/repos/Org/repo',
  ssh_url: 'git@git.test:Org/repo.git',
  clone_url: 'https://git.test/Org/repo.git',
};
const cloud = {
  full_name: 'Org/repo',
  links: { html: { href: 'https://bitbucket.org/Org/repo' }, self: { href: 'https://api.bitbucket.org/2.0/x' } },
};
const dataCenter = { slug: 'repo', name: 'Repo', project: { key: 'ORG', name: 'Organization' } };

/** Deliveries that request the tag v1.0.0 of the repository Org/repo, by sender. */
export const RELEASES: Readonly<Record<string, SentDelivery>> = {
  'a release of GitHub': {
    headers: { 'x-github-event': 'release' },
    body: { action: 'published', release: { tag_name: 'v1.0.0', draft: false }, repository },
  },
  'a tag of GitHub': {
    headers: { 'x-github-event': 'create' },
    body: { ref: 'v1.0.0', ref_type: 'tag', master_branch: 'main', repository },
  },
  'a tag push of GitHub': {
    headers: { 'x-github-event': 'push' },
    body: { ref: 'refs/tags/v1.0.0', after: 'a'.repeat(40), repository },
  },
  'a package of GitHub': {
    headers: { 'x-github-event': 'registry_package' },
    body: {
      action: 'published',
      registry_package: { package_version: { release: { tag_name: 'v1.0.0' } } },
      repository,
    },
  },
  "a body in the shape of GitHub's release": {
    headers: {},
    body: { action: 'published', release: { tag_name: 'v1.0.0' }, repository },
  },
  'a push without an event header': { headers: {}, body: { ref: 'refs/tags/v1.0.0', repository } },
  'a tag push of GitLab without its header': {
    headers: {},
    body: { object_kind: 'tag_push', ref: 'refs/tags/v1.0.0', project, repository: { url: project.git_ssh_url } },
  },
  'a push in the first format of GitHub': {
    headers: { 'x-github-event': 'push' },
    body: { ref: 'refs/tags/v1.0.0', repository: { name: 'repo', url: 'https://git.test/Org/repo' } },
  },
  'a release that names the API of GitHub': {
    headers: {},
    body: { release: { tag_name: 'v1.0.0' }, repository: { url: repository.url } },
  },
  'a push that names the API of Gitea': {
    headers: { 'x-gitea-event': 'push' },
    body: { ref: 'refs/tags/v1.0.0', repository: { url: 'https://git.test/gitea/api/v1/repos/Org/repo' } },
  },
  'a script that names its repository': { headers: {}, body: { ref: 'v1.0.0', repository: 'Org/repo\n' } },
  'a script that names its URL': { headers: {}, body: { ref: 'v1.0.0', repository: 'https://git.test/Org/repo' } },
  'a release of Gitea': {
    headers: { 'x-gitea-event': 'release', 'x-github-event': 'release' },
    body: { action: 'published', release: { tag_name: 'v1.0.0' }, repository },
  },
  'a tag of Forgejo': {
    headers: { 'x-forgejo-event': 'create', 'x-gitea-event': 'create' },
    body: { ref: 'v1.0.0', ref_type: 'tag', sha: 'a'.repeat(40), repository },
  },
  'a tag of Gogs': {
    headers: { 'x-gogs-event': 'push' },
    body: { ref: 'refs/tags/v1.0.0', repository: { ...repository, full_name: undefined } },
  },
  'a release of GitLab': {
    headers: { 'x-gitlab-event': 'Release Hook' },
    body: { object_kind: 'release', action: 'create', tag: 'v1.0.0', project },
  },
  'a tag push of a GitLab group': {
    headers: { 'x-gitlab-event': 'Tag Push Hook' },
    body: { object_kind: 'tag_push', ref: 'refs/tags/v1.0.0', project },
  },
  'a system hook of GitLab': {
    headers: { 'x-gitlab-event': 'System Hook' },
    body: { event_name: 'tag_push', ref: 'refs/tags/v1.0.0', project },
  },
  'an old GitLab': {
    headers: { 'x-gitlab-event': 'Tag Push Hook' },
    body: { object_kind: 'tag_push', ref: 'refs/tags/v1.0.0', repository: { url: project.git_ssh_url } },
  },
  'a push of Bitbucket Cloud': {
    headers: { 'x-event-key': 'repo:push' },
    body: { push: { changes: [{ new: { type: 'tag', name: 'v1.0.0' } }] }, repository: cloud },
  },
  'a push of Bitbucket Data Center': {
    headers: { 'x-event-key': 'repo:refs_changed' },
    body: { changes: [{ ref: { id: 'refs/tags/v1.0.0' }, type: 'ADD' }], repository: dataCenter },
  },
  'a newer Bitbucket Data Center': {
    headers: { 'x-event-key': 'repo:refs_changed' },
    body: {
      changes: [{ ref: { id: 'refs/tags/v1.0.0' }, type: 'ADD' }],
      repository: {
        ...dataCenter,
        links: { clone: [{ name: 'http', href: 'https://bitbucket.test/scm/org/repo.git' }] },
      },
    },
  },
  'freight of Kargo': {
    headers: {},
    body: { freight: { commits: [{ repoURL: 'https://git.test/Org/repo.git', tag: 'v1.0.0', id: 'a'.repeat(40) }] } },
  },
};
