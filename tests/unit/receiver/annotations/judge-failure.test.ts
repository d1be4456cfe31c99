import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { type Failure, judgeFailure } from '../../../../receiver/annotations/judge-failure.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { codedError } from '../../../support/coded-error.ts';

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
  const refused: Failure = { kind: 'refused', reason: 'ApiServerRefused' };
  const cases: [what: string, error: unknown, failure: Failure][] = [
    ['a missing object', status(404, notFound('demo')), { kind: 'refused', reason: 'NotFound' }],
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

  test('is judged by the messages that the admission policy of the chart has', async () => {
    const chart = path.join(import.meta.dirname, '../../../../chart/templates/receiver/policy.yaml');
    const policy = await readFile(chart, 'utf8');
    const rules = [...policy.matchAll(/^ {6}message: "?(.*?)"?\n {6}reason: (\w+)$/gm)];
    const judged = rules.flatMap(([, template = '', reason]) =>
      ['requested', 'pushed'].map((kind) => {
        const message = template.replaceAll('{{ $kind }}', kind);
        const error = status(reason === 'Invalid' ? 422 : 403, { details: { causes: [{ message }] } });
        return [reason, template.split(':')[0], judgeFailure(error, { namespace: 'team', name: 'demo' })];
      }),
    );
    assert.ok(judged.length > 4);
    assert.deepEqual(
      judged.filter(([reason]) => reason !== 'Forbidden'),
      [
        ['Invalid', 'other repository', { kind: 'foreign' }],
        ['Invalid', 'other repository', { kind: 'foreign' }],
        ['Invalid', 'superseded', { kind: 'superseded', part: 'request' }],
        ['Invalid', 'superseded', { kind: 'superseded', part: 'push' }],
      ],
    );
    for (const [reason, , failure] of judged) if (reason === 'Forbidden') assert.deepEqual(failure, refused);
  });
});
