import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Failure, judgeFailure } from '../../../../receiver/annotations/judge-failure.ts';
import { isPossibleTarget } from '../../../../receiver/annotations/target.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { codedError } from '../../../support/coded-error.ts';

test('names that Kubernetes accepts are possible targets', () => {
  for (const [namespace, name] of [
    ['a', '1'],
    ['team-1', 'site.v2'],
    ['x'.repeat(63), 'y'.repeat(63)],
  ] as const)
    assert.equal(isPossibleTarget({ namespace, name }), true, `${namespace}/${name}`);
});

test('names that Kubernetes rejects, or that change a path, are not possible targets', () => {
  const hostile = ['', '.', '..', '-a', 'a-', 'A', 'a_b', 'a/b', 'a%2Fb', 'a\n', 'ü', 'a..b', '.a', 'x'.repeat(254)];
  for (const text of hostile) {
    assert.equal(isPossibleTarget({ namespace: 'default', name: text }), false, text);
    assert.equal(isPossibleTarget({ namespace: text, name: 'demo' }), false, text);
  }
  assert.equal(isPossibleTarget({ namespace: 'a.b', name: 'demo' }), false);
});

suite('a failed patch', () => {
  const status = (code: number, fields: object = {}, retryAfter?: string) =>
    new ApiError(code, JSON.stringify(fields), retryAfter);
  const notFound = (name: string) => ({ reason: 'NotFound', details: { name } });
  const superseded = (annotation: string) => ({
    details: { causes: [{ message: `superseded: ${annotation} is older` }] },
  });
  const message = 'other repository: sync.io/requested-repo is neither spec.git.repo nor …';
  const foreign = { details: { causes: [{ message }] } };
  const both = { details: { causes: [...superseded('sync.io/requested-at').details.causes, { message }] } };
  const broken = (code: string) => codedError(code, 'x');
  const later: Failure = { kind: 'retry', afterMs: 0 };
  const refused: Failure = { kind: 'refused' };
  const cases: [what: string, error: unknown, failure: Failure][] = [
    ['a missing object', status(404, notFound('demo')), { kind: 'missing' }],
    ['a missing other object', status(404, notFound('other')), refused],
    ['a missing path', status(404), later],
    ['another error about the object', status(410, notFound('demo')), refused],
    ['a newer request', status(422, superseded('sync.io/requested-at')), { kind: 'superseded', part: 'request' }],
    ['a newer push', status(422, superseded('sync.io/pushed-at')), { kind: 'superseded', part: 'push' }],
    ['another repository', status(422, foreign), { kind: 'foreign' }],
    ['another repository, next to a newer request', status(422, both), { kind: 'foreign' }],
    ['another repository with another status', status(403, foreign), refused],
    ['another policy', status(422, superseded('x')), refused],
    ['a policy with another status', status(403, superseded('sync.io/pushed-at')), refused],
    ['a missing permission', status(403, { message: 'x cannot patch resource y' }), later],
    ['a denial by an API server that has just started', status(403, { message: 'not yet ready' }), later],
    ['credentials that the API server does not know yet', status(401), later],
    ['a conflict', status(409), later],
    ['too many requests', status(429, {}, '3'), { kind: 'retry', afterMs: 3_000 }],
    ['an internal error of the API server', status(500), later],
    ["a response that isn't HTTP", broken('HPE_INVALID_CONSTANT'), later],
    ['an expired certificate', broken('CERT_HAS_EXPIRED'), refused],
    ['unreadable credentials', broken('ENOENT'), refused],
    ['no error', undefined, refused],
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'EMFILE', 'EPROTO'].map(
      (code): [string, unknown, Failure] => [code, broken(code), later],
    ),
  ];
  for (const [what, error, failure] of cases)
    test(`results in "${failure.kind}" after ${what}`, () => {
      assert.deepEqual(judgeFailure(error, { namespace: 'team', name: 'demo' }), failure);
    });
});
