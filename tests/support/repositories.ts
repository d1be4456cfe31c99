/** What a `spec.git.repo` may be, by the path that is compared. */
export const SPELLINGS: Readonly<Record<string, string[]>> = {
  'org/repo': [
    'https://github.com/org/repo',
    'https://github.com/org/repo.git',
    'https://GitHub.com/Org/Repo.git/',
    'https://github.com//org//repo///',
    'http://gitea.tools.svc:3000/org/repo',
    'ssh://git@bitbucket.example.com:7999/ORG/repo.git',
    'ssh://git@[::1]:22/org/repo.git',
    'git://git.test:9418/org/repo.GIT',
    'git@github.com:org/repo.git',
    'git@altssh.bitbucket.org:org/repo',
    'https://github.com/%6frg/%52epo%2Egit',
    'https://github.com/org%2Frepo',
    'https://bitbucket.example.com/scm/ORG/repo.git',
    'https://example.com/bitbucket/scm/org/repo.git',
  ],
  'team/web/sites/plant': [
    'https://gitlab.example.com/team/web/sites/plant.git',
    'git@gitlab.example.com:team/web/sites/plant.git',
  ],
  'org/project/repo': [
    'https://dev.azure.com/org/project/_git/repo',
    'git@ssh.dev.azure.com:v3/org/project/repo',
    'https://ORG.visualstudio.com/project/_git/repo',
    'org@vs-ssh.visualstudio.com:v3/org/project/repo',
    'https://tfs.example.com:8080/org/project/_git/repo',
  ],
  'org/my%20project/a(b)+c': [
    'https://dev.azure.com/org/My%20Project/_git/A(b)+c',
    'git@ssh.dev.azure.com:v3/org/My%20Project/a%28b%29%2bc',
    'https://org.visualstudio.com:443/my%20project/_git/a(b)%2Bc',
  ],
  'org/résumé': ['https://git.test/org/résumé.git', 'https://git.test/Org/R%C3%89sum%c3%a9'],
  'org/İstanbul/部署': [
    'https://dev.azure.com/org/%C4%B0stanbul/_git/%E9%83%A8%e7%bd%b2',
    'git@ssh.dev.azure.com:v3/org/İstanbul/部署',
  ],
  'org/\ufffd': ['https://git.test/org/%e9'],
  '~me/notes': ['https://bitbucket.example.com/scm/~me/notes.git', 'https://git.sr.ht/~me/notes'],
  'scm/repo': ['https://gitlab.com/scm/repo.git'],
  repo: ['git@git.test:repo.git', 'http://127.0.0.1/repo'],
  'org/100%25': ['https://git.test/org/100%25', 'https://git.test/org/100%'],
};

/** Entries of `spec.webhook.repositories`, with paths that they match and others. */
export const ENTRIES: readonly { entry: string; matches: string[]; others: string[] }[] = [
  {
    entry: 'Old/Name',
    matches: ['old/name', 'x/y old/name'],
    others: ['old/name2', 'older/name', 'x/old/name', 'name'],
  },
  { entry: 'github.com/old/name.git', matches: ['old/name'], others: ['github.com/old', 'old/names', 'name'] },
  { entry: 'gitea:3000/old/name/', matches: ['old/name'], others: ['old', 'gitea/old/name'] },
  { entry: 'localhost/old/name', matches: ['old/name'], others: ['name'] },
  { entry: 'my.group/name', matches: ['my.group/name', 'name'], others: ['myxgroup/name'] },
  { entry: 'bitbucket.example.com/scm/PROJ/repo', matches: ['proj/repo'], others: ['scm/proj', 'repo'] },
  { entry: 'dev.azure.com/org/my%20project/_git/repo', matches: ['org/my%20project/repo'], others: ['org/my/repo'] },
  { entry: 'mirrors/*', matches: ['mirrors/a', 'mirrors/a.b'], others: ['mirrors', 'mirrors/a/b', 'amirrors/b'] },
  { entry: 'team/**', matches: ['team/a', 'team/a/b/c'], others: ['team', 'teams/a', 'x/team/a'] },
  { entry: '**/site', matches: ['site', 'a/site', 'a/b/site'], others: ['asite', 'a/site/b'] },
  { entry: 'a/**/site', matches: ['a/site', 'a/b/site', 'a/b/c/site'], others: ['asite', 'a/bsite'] },
  { entry: 'org/site-?', matches: ['org/site-1'], others: ['org/site-', 'org/site-12', 'org/site-/'] },
  { entry: '{old,new}/{site,app}', matches: ['old/site', 'new/app'], others: ['old', 'old/apps', 'older/site'] },
  { entry: 'a+b/c.d', matches: ['a+b/c.d'], others: ['aab/c.d', 'a+b/cxd'] },
  { entry: 'org/部署-*', matches: ['org/部署-1'], others: ['org/部-1'] },
  { entry: '*.example.com/org/*', matches: ['org/x'], others: ['orgs/x', 'org'] },
];
