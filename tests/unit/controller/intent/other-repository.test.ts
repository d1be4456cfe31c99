import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ENTRIES, SPELLINGS } from '../../../support/repositories.ts';
import { type Asked, at, decideFor, resourceOf } from '../support/asked-resource.ts';

const asked = { ref: 'v1', id: '1', at: at(10) };
const pushed = { ref: 'refs/heads/dev', at: at(10) };

const statusOf = (given: Asked) => decideFor(resourceOf({ allowedRefs: ['dev', 'v*'], ...given })).status;

suite('where no policy refuses a delivery about another repository', () => {
  test('its request is ignored, in words that say what to do', () => {
    const { target, lastRequest } = statusOf({ request: { ...asked, repo: 'team/unrelated' } });
    assert.equal(target?.ref, 'main');
    const { message, ...echo } = lastRequest ?? {};
    assert.deepEqual(echo, { ...asked, repo: 'team/unrelated', outcome: 'Ignored' });
    assert.match(String(message), /team\/unrelated.*spec\.webhook\.repositories/);
  });

  test('its push is ignored', () => {
    const { target, lastPush } = statusOf({ push: { ...pushed, repo: 'team/unrelated' } });
    assert.deepEqual([target?.ref, lastPush?.outcome, lastPush?.repo], ['main', 'Ignored', 'team/unrelated']);
  });

  test('a request for its own repository is followed, however that is written', () => {
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

  test('a request that names no repository is followed, and its echo has none', () => {
    const { target, lastRequest } = statusOf({ request: asked });
    assert.deepEqual([target?.ref, lastRequest], ['v1', { ...asked, outcome: 'Applied' }]);
  });

  test('a request that is done stays done when spec.git.repo becomes another one', () => {
    const request = { ...asked, repo: 'app' };
    const status = statusOf({ request });
    const after = statusOf({ request, status, repo: 'https://git.test/other.git', repoWritten: 20 });
    assert.deepEqual([after.target?.ref, after.lastRequest?.outcome], ['main', 'Superseded']);
  });
});
