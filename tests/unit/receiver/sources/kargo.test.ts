import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readKargo } from '../../../../receiver/sources/kargo.ts';

const request = (ref: string) => ({ kind: 'request', ref, source: 'kargo' });
const commit = { id: 'a'.repeat(40), message: 'A change' };

test("the tag of the first commit with a tag is the ref of Kargo's freight", () => {
  const commits = [commit, { ...commit, tag: 'v1.0.0' }, { ...commit, tag: 'v2.0.0' }];
  assert.deepEqual(readKargo({}, { freight: { name: 'f', commits } }), request('v1.0.0'));
  assert.deepEqual(readKargo({}, { commits }), request('v1.0.0'));
});

test("without a tag, the hash of the first commit from a branch is the ref of Kargo's freight", () => {
  const ofBranch = { ...commit, branch: 'main' };
  assert.deepEqual(readKargo({}, { freight: { commits: [commit, ofBranch] } }), request(commit.id));
  assert.deepEqual(readKargo({}, { commits: [ofBranch] }), request(commit.id));
  assert.deepEqual(readKargo({}, { commits: [ofBranch, { ...commit, tag: 'v1' }] }), request('v1'));
  for (const other of [{ branch: 'main' }, { branch: 'main', id: 'abc' }, { branch: '', id: commit.id }])
    assert.equal(readKargo({}, { freight: { commits: [other] } }), undefined, JSON.stringify(other));
});

suite('the time of a promotion', () => {
  // The example of https://github.com/ulid/spec in the form of a name of Kargo.
  const promotion = 'prod.eu.01arz3ndektsv4rrffq69g5fav.d3adb3e';
  const madeAt = Date.parse('2016-07-30T23:54:10.259Z');
  const commits = [{ ...commit, tag: 'v1' }];

  test('is in its name', () => {
    assert.deepEqual(readKargo({}, { promotion, freight: { commits } }), { ...request('v1'), madeAt });
    assert.deepEqual(readKargo({}, { promotion, commits }), { ...request('v1'), madeAt });
  });

  test('is that of each alternative', () => {
    const both = ['a', 'b'].map((name) => ({ tag: 'v1', repoURL: `https://git.test/org/${name}` }));
    const delivery = readKargo({}, { promotion, commits: both });
    const alternatives = delivery && 'alternatives' in delivery ? delivery.alternatives : undefined;
    const times = alternatives?.map((each) => each.madeAt);
    assert.deepEqual(times, [madeAt]);
  });

  test("is unknown if the name has none, and isn't the date of the freight or of a commit", () => {
    const dates = {
      creationTimestamp: '2020-11-02T12:55:12Z',
      metadata: { creationTimestamp: '2020-11-02T12:55:12Z' },
    };
    const dated = commits.map((each) => ({ ...each, committerDate: '2020-11-02T12:55:12Z' }));
    for (const name of [undefined, 1, 'prod', '01arz3ndektsv4rrffq69g5fav', 'prod.01arz3.d3adb3e'])
      assert.deepEqual(
        readKargo({}, { ...dates, promotion: name, freight: { ...dates, commits: dated } }),
        request('v1'),
        String(name),
      );
  });
});

suite('freight from several repositories', () => {
  const site = { ...commit, repoURL: 'https://git.test/org/site.git' };
  const app = { ...commit, repoURL: 'git@git.test:org/app.git', id: 'b'.repeat(40) };
  const wanted = (ref: string, repository: string) => ({ kind: 'request', ref, repository });

  test('requests one commit per repository, the first valid one', () => {
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

  test('treats two URLs of one repository as the same', () => {
    const commits = [
      { ...site, repoURL: 'ssh://git@git.test/org/site' },
      { ...site, tag: 'v2' },
    ];
    assert.deepEqual(readKargo({}, { commits }), { ...wanted('v2', 'org/site'), source: 'kargo' });
  });

  test("skips a repository without a ref, and one whose tag isn't a ref", () => {
    const commits = [site, { ...app, tag: 'v2' }, { ...site, repoURL: 'https://git.test/x', tag: '-x' }];
    assert.deepEqual(readKargo({}, { commits }), { ...wanted('v2', 'org/app'), source: 'kargo' });
  });
});

test("elements that aren't commits with a tag are skipped", () => {
  const commits = [null, 'v0', 1, [], ['tag'], {}, { tag: null }, { tag: 1 }, { tag: '' }, { tag: {} }, { tag: 'v3' }];
  assert.deepEqual(readKargo({}, { freight: { commits } }), request('v3'));
});

test('freight takes precedence over commits at the top level', () => {
  const body = { freight: { commits: [{ tag: 'v1' }] }, commits: [{ tag: 'v2' }], ref: 'v3' };
  assert.deepEqual(readKargo({}, body), request('v1'));
});

test("a git server's push isn't from Kargo, even if its commits have tags", () => {
  const body = { ref: 'refs/heads/main', before: 'b'.repeat(40), commits: [{ ...commit, tag: 'v1' }] };
  assert.equal(readKargo({}, body), undefined);
});

test("a Kargo tag that isn't a ref is invalid", () => {
  assert.equal(readKargo({}, { freight: { commits: [{ tag: '--upload-pack=x' }] } })?.kind, 'invalid');
});

test("bodies of other shapes aren't from Kargo", () => {
  const freights = [null, 'x', { commits: null }, { commits: { 0: { tag: 'v1' }, length: 1 } }, { commits: [commit] }];
  const bodies = [{}, ...freights.map((freight) => ({ freight })), { commits: 'v1' }, { commits: [commit] }];
  for (const body of bodies) assert.equal(readKargo({}, body), undefined, JSON.stringify(body));
});
