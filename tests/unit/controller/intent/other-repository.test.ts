import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ENTRIES, SPELLINGS } from '../../../support/repositories.ts';
import { type Asked, at, decideFor, resourceOf } from '../support/requested-resource.ts';

const asked = { ref: 'v1', id: '1', at: at(10) };
const pushed = { ref: 'refs/heads/dev', at: at(10) };

const statusOf = (given: Asked) => decideFor(resourceOf({ allowedRefs: ['dev', 'v*'], ...given })).status;

suite('if no policy rejects deliveries for another repository', () => {
  test('a request for it is ignored, with a message that names the remedy', () => {
    const { target, lastRequest } = statusOf({ request: { ...asked, repo: 'team/unrelated' } });
    assert.equal(target?.ref, 'main');
    const { message, ...echo } = lastRequest ?? {};
    assert.deepEqual(echo, { ...asked, repo: 'team/unrelated', outcome: 'Ignored' });
    assert.match(String(message), /team\/unrelated.*spec\.webhook\.repositories/);
  });

  test('a push to it is ignored', () => {
    const { target, lastPush } = statusOf({ push: { ...pushed, repo: 'team/unrelated' } });
    assert.deepEqual([target?.ref, lastPush?.outcome, lastPush?.repo], ['main', 'Ignored', 'team/unrelated']);
  });

  test('a request for the own repository is followed, however its URL is written', () => {
    for (const [path, spellings] of Object.entries(SPELLINGS))
      for (const repo of spellings) {
        const { target, lastRequest } = statusOf({ repo, request: { ...asked, repo: path } });
        assert.deepEqual([target?.ref, lastRequest?.outcome, lastRequest?.repo], ['v1', 'Applied', path], repo);
      }
  });

  test('a request for a repository in spec.webhook.repositories is followed', () => {
    for (const { entry, matches, others } of ENTRIES) {
      const outcomeOf = (repo: string) => statusOf({ repositories: [entry], request: { ...asked, repo } }).lastRequest;
      for (const path of matches) assert.equal(outcomeOf(path)?.outcome, 'Applied', `${path} by ${entry}`);
      for (const path of others) assert.equal(outcomeOf(path)?.outcome, 'Ignored', `${path} by ${entry}`);
    }
  });

  test('a request without a repository is followed, and its echo has none', () => {
    const { target, lastRequest } = statusOf({ request: asked });
    assert.deepEqual([target?.ref, lastRequest], ['v1', { ...asked, outcome: 'Applied' }]);
  });

  test('a completed request stays complete when spec.git.repo changes', () => {
    const request = { ...asked, repo: 'app' };
    const status = statusOf({ request });
    const after = statusOf({ request, status, repo: 'https://git.test/other.git', edits: 1, editSeen: 20 });
    assert.deepEqual([after.target?.ref, after.lastRequest?.outcome], ['main', 'Superseded']);
  });
});
