import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readKargo } from '../../../../receiver/sources/kargo.ts';

const request = (ref: string) => ({ kind: 'request', ref, source: 'kargo' });
const commit = { id: 'a'.repeat(40), message: 'A change' };

test('the tag of the first commit that has one is the ref', () => {
  const commits = [commit, { ...commit, tag: 'v1.0.0' }, { ...commit, tag: 'v2.0.0' }];
  assert.deepEqual(readKargo({}, { freight: { name: 'f', commits } }), request('v1.0.0'));
  assert.deepEqual(readKargo({}, { commits }), request('v1.0.0'));
});

test('where no commit has a tag, the first that came from a branch is the ref, by its hash', () => {
  const ofBranch = { ...commit, branch: 'main' };
  assert.deepEqual(readKargo({}, { freight: { commits: [commit, ofBranch] } }), request(commit.id));
  assert.deepEqual(readKargo({}, { commits: [ofBranch] }), request(commit.id));
  assert.deepEqual(readKargo({}, { commits: [ofBranch, { ...commit, tag: 'v1' }] }), request('v1'));
  for (const other of [
    { branch: 'main' },
    { branch: 'main', id: 'abc' },
    { branch: '', id: commit.id },
    { branch: 1 },
  ]) {
    assert.equal(readKargo({}, { freight: { commits: [other] } }), undefined, JSON.stringify(other));
  }
});

suite('freight of several repositories', () => {
  const site = { ...commit, repoURL: 'https://git.test/org/site.git' };
  const app = { ...commit, repoURL: 'git@git.test:org/app.git', id: 'b'.repeat(40) };
  const wanted = (ref: string, repository: string) => ({ kind: 'request', ref, repository });

  test('asks for one commit of each, the first that counts', () => {
    const commits = [
      { ...site, tag: 'v1' },
      { ...app, tag: 'v2' },
      { ...app, tag: 'v3' },
      { ...commit, tag: 'v4' },
    ];
    assert.deepEqual(readKargo({}, { freight: { commits } }), {
      ...wanted('v1', 'org/site'),
      alternatives: [wanted('v2', 'org/app')],
      source: 'kargo',
    });
  });

  test('takes a commit from a branch of the one and a tag of the other', () => {
    const commits = [
      { ...site, branch: 'main' },
      { ...app, tag: 'v2' },
    ];
    assert.deepEqual(readKargo({}, { commits }), {
      ...wanted(site.id, 'org/site'),
      alternatives: [wanted('v2', 'org/app')],
      source: 'kargo',
    });
  });

  test('takes two URLs of one repository for the same', () => {
    const commits = [
      { ...site, repoURL: 'ssh://git@git.test/org/site' },
      { ...site, tag: 'v2' },
    ];
    assert.deepEqual(readKargo({}, { commits }), { ...wanted('v2', 'org/site'), source: 'kargo' });
  });

  test('passes over a repository without a ref, and one with a tag that is no ref', () => {
    const commits = [site, { ...app, tag: 'v2' }, { ...site, repoURL: 'https://git.test/x', tag: '-x' }];
    assert.deepEqual(readKargo({}, { commits }), { ...wanted('v2', 'org/app'), source: 'kargo' });
  });

  test('does not ask for a commit without a repository next to one that has one', () => {
    const commits = [
      { ...commit, tag: 'v1' },
      { ...app, tag: 'v2' },
    ];
    assert.deepEqual(readKargo({}, { commits }), { ...wanted('v2', 'org/app'), source: 'kargo' });
  });
});

test('elements that are no commits with a tag are passed over', () => {
  const commits = [null, 'v0', 1, [], ['tag'], {}, { tag: null }, { tag: 1 }, { tag: '' }, { tag: {} }, { tag: 'v3' }];
  assert.deepEqual(readKargo({}, { freight: { commits } }), request('v3'));
});

test('the freight goes before commits at the top', () => {
  const body = { freight: { commits: [{ tag: 'v1' }] }, commits: [{ tag: 'v2' }], ref: 'v3' };
  assert.deepEqual(readKargo({}, body), request('v1'));
});

test('a push of a git host is not its own, even if its commits had tags', () => {
  const body = { ref: 'refs/heads/main', before: 'b'.repeat(40), commits: [{ ...commit, tag: 'v1' }] };
  assert.equal(readKargo({}, body), undefined);
});

test('a tag that is no ref is invalid', () => {
  assert.equal(readKargo({}, { freight: { commits: [{ tag: '--upload-pack=x' }] } })?.kind, 'invalid');
});

test('bodies of other shapes are not its own', () => {
  const bodies = [
    {},
    { freight: null },
    { freight: 'x' },
    { freight: [] },
    { freight: { commits: null } },
    { freight: { commits: { 0: { tag: 'v1' }, length: 1 } } },
    { freight: { commits: [] } },
    { freight: { commits: [commit] } },
    { commits: 'v1' },
    { commits: [commit] },
  ];
  for (const body of bodies) assert.equal(readKargo({}, body), undefined, JSON.stringify(body));
});
