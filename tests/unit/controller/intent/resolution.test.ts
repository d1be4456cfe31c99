import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LAST_TIME, readIntents, readStatedTime } from '../../../../controller/intent/intents.ts';
import type { Resolution } from '../../../../controller/intent/resolution.ts';
import { nextQueryInMs } from '../../../../controller/intent/resolution.ts';
import { resolve } from '../../../../controller/intent/resolve.ts';
import { neededRefs } from '../../../../controller/intent/resolve-ref.ts';
import type { PendingQuery, QueryResult } from '../../../../controller/polling/query-result.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { omit } from '../../../../shared/domain/text/objects.ts';
import { TerminalError, TransientError } from '../../../../shared/errors.ts';
import { type Asked, at, followsMain, refs, resourceOf, second } from '../support/requested-resource.ts';

const now = second(12);
const request = { ref: 'v1', at: at(10), by: 'github', id: '1' };
const push = { ref: 'refs/heads/dev', at: at(11) };

function resolveFor(given: Asked, answer: QueryResult | PendingQuery | undefined = { kind: 'refs', refs }) {
  const gatewaySync = resourceOf({ status: followsMain, ...given });
  return resolve(gatewaySync, readIntents(gatewaySync), { query: answer, now });
}

suite('the status answers a request or a push', () => {
  const capital = 'AB'.repeat(20);
  const late = { ...request, at: at(-50) };
  const fromManifest = ['Ignored', ' spec.git.ref'] as const;
  /** The outcomes, with facts of the messages. */
  const cases: [
    name: string,
    Asked,
    forRequest: readonly [outcome: string, fact?: string] | undefined,
    forPush?: readonly [outcome: string, fact?: string],
  ][] = [
    ['that is applied', { request }, ['Applied']],
    [
      'that contains nothing but the ref',
      { request: { ref: 'v1' }, push: { ref: 'refs/heads/main' } },
      ['Applied'],
      ['Applied'],
    ],
    [
      "that isn't a ref",
      {
        request: { ...request, ref: '--upload-pack=x' },
        push: { ...push, ref: 'refs/heads/a..b' },
        allowedRefs: ['**'],
      },
      ['Failed'],
      ['Failed'],
    ],
    [
      "for a branch that isn't allowed",
      { request: { ...request, ref: 'other' }, push },
      ['Ignored', 'refs/heads/other'],
      ['Ignored', 'spec.webhook.allowedRefs'],
    ],
    [
      'that a manifest contains',
      { request: { ...request, applied: true }, push: { ...push, applied: true } },
      fromManifest,
      fromManifest,
    ],
    ['that came with a restored resource', { status: {}, request: { ...request, at: at(-1) } }, ['Ignored']],
    [
      "for a ref that the server doesn't show yet",
      { request: { ...request, ref: 'v9' }, push: { ...push, ref: 'refs/heads/new' }, allowedRefs: ['new', 'v9'] },
      ['Pending', ' v9'],
      ['Pending'],
    ],
    ["for a ref that the server doesn't show after a minute", { request: { ...late, ref: 'v9' } }, ['Failed', 'v9']],
    ['for a short commit', { request: { ...request, ref: 'dfd4b2d' } }, ['Pending', 'dfd4b2d']],
    ['for a commit in capital letters', { request: { ...late, ref: capital } }, ['Failed', capital]],
    [
      "for a ref that the server doesn't show, and is older than an edit",
      { request: { ...request, ref: 'v9' }, ref: 'next', edits: 1, editSeen: 11 },
      ['Superseded', 'spec.git.ref'],
    ],
    [
      'that is older than an edit of the repository',
      { request, repo: 'https://git.test/other.git', edits: 1, editSeen: 11 },
      ['Superseded', 'spec.git.repo'],
    ],
    [
      'that is older than a push',
      { request, push, allowedRefs: ['dev', 'v*'] },
      ['Superseded', 'refs/heads/dev'],
      ['Applied'],
    ],
    [
      'that is older than a request',
      { request, push: { ...push, at: at(5) }, allowedRefs: ['dev', 'v*'] },
      ['Applied'],
      ['Superseded', 'v1'],
    ],
  ];
  for (const [name, given, forRequest, forPush] of cases) {
    test(name, () => {
      const { lastRequest, lastPush } = resolveFor(given).echo;
      for (const [echo, expected, asked] of [
        [lastRequest, forRequest, given.request],
        [lastPush, forPush, given.push],
      ] as const) {
        const { outcome, message = '', ...rest } = echo ?? {};
        assert.equal(outcome, expected?.[0]);
        const isUntimed = asked && asked.at === undefined;
        assert.deepEqual(rest, { ...omit(asked ?? {}, 'applied'), ...(isUntimed && { seenAt: at(10_000) }) });
        assert.ok(message.includes(expected?.[1] ?? ''), message);
      }
    });
  }

  test('again within a second or two, as long as the server may show the ref later', () => {
    const requeryAfter = (asked: Asked) => {
      const resolution = resolveFor(asked);
      return 'requeryInMs' in resolution && resolution.requeryInMs;
    };
    const unknown = { request: { ...request, ref: 'v9' } };
    assert.equal(requeryAfter(unknown), 2_000);
    assert.equal(
      requeryAfter({ ...unknown, push: { ...push, ref: 'refs/heads/new' }, allowedRefs: ['new', 'v9'] }),
      1_000,
    );
    assert.equal(requeryAfter({ request: { ...late, ref: 'v9' } }), undefined);
    assert.equal(requeryAfter({ request }), undefined);
    assert.equal(requeryAfter({ ...unknown, ref: 'gone' }), 2_000, 'the request may still lead to a commit');
  });

  test("as waiting if the git server can't be queried", () => {
    const lastRequest = { ...request, outcome: 'Pending' };
    const lastPush = { ...push, outcome: 'Pending' };
    const asked = { request, push, allowedRefs: ['dev'] };
    const gatewaySync = resourceOf({ ...asked, status: followsMain });
    const paused = resolve(gatewaySync, readIntents(gatewaySync), { query: undefined, now });
    assert.partialDeepStrictEqual(paused, { kind: 'paused', echo: { lastRequest, lastPush } });
    const queried = { kind: 'querying', forMs: 5, isMentioned: false, echo: { lastRequest, lastPush } };
    assert.partialDeepStrictEqual(resolveFor(asked, { kind: 'querying', forMs: 5 }), queried);
    const status = { ...followsMain, lastRequest, lastPush } as GatewaySyncStatus;
    assert.deepEqual(resolveFor({ ...asked, status }, { kind: 'querying', forMs: 5 }), {
      kind: 'querying',
      forMs: 5,
      isMentioned: true,
      echo: {},
    });
    const { echo } = resolveFor({ request: { ...request, applied: true } }, { kind: 'querying', forMs: 5 });
    assert.equal(echo.lastRequest?.outcome, 'Ignored');
  });
});

suite('the followed commit', () => {
  test('is that of the ref', () => {
    assert.deepEqual(resolveFor({ request }), {
      kind: 'resolved',
      followed: {
        winner: { target: { ref: 'v1', source: 'Request', requestId: '1', requestedAt: at(10) }, at: second(10) },
        resolved: { commit: '1'.repeat(40), qualifiedRef: 'refs/tags/v1', ambiguous: false },
      },
      echo: { lastRequest: { ...request, outcome: 'Applied' } },
      requeryInMs: undefined,
    });
  });

  test('can be missing', () => {
    const messageFor = (given: Asked) => {
      const { echo, message, ...rest } = resolveFor(given) as Resolution & { kind: 'failed' };
      const failure = { kind: 'failed', reason: 'RefNotFound', transient: false, retryAfterMs: undefined };
      assert.deepEqual([rest, echo], [{ ...failure, requeryInMs: undefined, isJudged: true, known: undefined }, {}]);
      return message;
    };
    assert.match(messageFor({ ref: 'gone' }), /"gone".* https:\/\/git\.test\/app\.git; /);
    assert.match(messageFor({ ref: 'dfd4b2d' }), /"dfd4b2d".* 40 /);
    assert.match(messageFor({ ref: 'AB'.repeat(20) }), /"(AB){20}"(?!.* 40 )/);
    assert.match(messageFor({ ref: 'HEAD' }), /HEAD/);
    const target = { ref: 'v8', source: 'Request' } as const;
    const requested = { status: { ...followsMain, target, targetTime: at(5) } };
    assert.match(messageFor(requested), /"v8", /);
  });

  test('is a full hash in spec.git.ref, whatever the repository shows', () => {
    const hash = '9'.repeat(40);
    const followed = (given: Asked, answer?: QueryResult) => {
      const resolution = resolveFor({ ref: hash, ...given }, answer);
      return resolution.kind === 'resolved' && resolution.followed.resolved.commit;
    };
    assert.equal(followed({}, { kind: 'refs', refs: new Map() }), hash);
    assert.equal(
      followed({ request: { ...request, ref: 'v9' } }),
      hash,
      'a request that leads nowhere changes nothing',
    );
    assert.equal(followed({ request }), refs.get('refs/tags/v1'));
    const kept = { target: { ref: hash, source: 'Request' }, targetTime: at(5) } as const;
    assert.equal(followed({ ref: 'main', status: { ...followsMain, ...kept } }), hash, 'or was requested before');
    for (const cause of [error, denied]) {
      const answer: QueryResult = { kind: 'error', error: cause, lastGood: undefined, retryAfterMs: 5_000 };
      const failure = resolveFor({ ref: hash, request }, answer);
      assert.equal(failure.kind === 'failed' && failure.known?.resolved.commit, hash, cause.reason);
    }
  });

  const error = new TransientError('the host is unreachable', { code: 'git.unreachable', reason: 'GitUnreachable' });
  const denied = new TerminalError('the host refuses', { code: 'git.denied', reason: 'AuthenticationFailed' });
  const resolved = { commit: 'a'.repeat(40), qualifiedRef: 'refs/heads/main', ambiguous: false };
  const known = {
    winner: { field: 'spec.git.ref', target: { ref: 'main', source: 'Spec' }, at: Number.NEGATIVE_INFINITY },
    resolved,
  };

  test('is that of the last response while the server is unavailable', () => {
    const answer = (cause: typeof error | typeof denied, lastGood?: typeof refs): QueryResult => ({
      kind: 'error',
      error: cause,
      lastGood: lastGood && { refs: lastGood },
      retryAfterMs: 5_000,
    });
    const failure = { kind: 'failed', retryAfterMs: 5_000, requeryInMs: undefined };
    const unreachable = { ...failure, reason: 'GitUnreachable', message: 'the host is unreachable', transient: true };
    const echo = { lastRequest: { ...request, outcome: 'Pending', message: 'the host is unreachable' } };
    const unknown = { isJudged: false, known: undefined };
    assert.deepEqual(resolveFor({ request }, answer(error, refs)), { ...unreachable, echo, isJudged: true, known });
    assert.deepEqual(resolveFor({ request }, answer(error)), { ...unreachable, echo, ...unknown });
    const refusal = { ...failure, reason: 'AuthenticationFailed', message: 'the host refuses', transient: false };
    assert.deepEqual(resolveFor({}, answer(denied, refs)), { ...refusal, echo: {}, ...unknown });
  });
});

test('a query requests the named refs, and a requested commit', () => {
  const needed = (given: Asked) => neededRefs(readIntents(resourceOf({ status: followsMain, ...given })));
  const ofMain = ['refs/tags/main', 'refs/heads/main', 'refs/tags/vmain', 'refs/heads/vmain'];
  assert.deepEqual(needed({}), { prefixes: ofMain, commit: undefined });
  assert.deepEqual(needed({ request: { ref: '-x' }, push: { ref: 'refs/heads/main' } }), {
    prefixes: [...new Set([...ofMain, 'refs/heads/main'])],
    commit: undefined,
  });
  const commit = '9'.repeat(40);
  assert.deepEqual(needed({ ref: commit, status: {} }), { prefixes: [], commit: undefined });
  assert.deepEqual(needed({ ref: commit, request: { ref: commit } }), { prefixes: [], commit: undefined });
  const target = { ref: commit, source: 'Request' } as const;
  assert.deepEqual(needed({ status: { ...followsMain, target } }), { prefixes: ofMain, commit: undefined });
  assert.deepEqual(needed({ request: { ref: commit } }), { prefixes: ofMain, commit });
});

test("a server that doesn't show a ref is queried eight times in a minute, less and less often", () => {
  const looks: number[] = [];
  for (let sinceMs = 0, next = nextQueryInMs(0, 0); next !== undefined; next = nextQueryInMs(0, sinceMs)) {
    sinceMs += next;
    looks.push(sinceMs);
  }
  assert.equal(looks.length, 8);
  assert.ok(looks.every((look, index) => look <= 60_000 && (index === 0 || look > (looks[index - 1] ?? 0) * 1.3)));
  assert.equal(nextQueryInMs(10_000, 0), looks[0], 'also where the webhook is ahead of us');
  assert.equal(nextQueryInMs(0, (looks[0] ?? 0) - 1), 1);
});

test('times are parsed as in RFC 3339, for the years 1 to 9999', () => {
  for (const [text, time] of [
    ['1970-01-01T00:00:01Z', 1_000],
    ['1970-01-01t00:00:01.5z', 1_500],
    ['1970-01-01T01:00:00+01:00', 0],
    ['0001-01-01T00:00:00Z', Date.parse('0001-01-01T00:00:00Z')],
    ['9999-12-31T23:59:59.999Z', LAST_TIME],
    ['9999-12-31T23:59:59.999-00:01', undefined],
    ['0001-01-01T00:00:00+00:01', undefined],
    ['1970-01-01', undefined],
    ['1970-01-01T00:00:01', undefined],
    ['1', undefined],
    ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
    ['1970-13-01T00:00:00Z', undefined],
    ['', undefined],
  ] as const)
    assert.equal(readStatedTime(text), time, text);
});

test('a query with a range requests the tags that a request and a push name, or else all tags', () => {
  const status = { ...followsMain, target: { ref: 'v1.0.0', range: '~1', source: 'Spec' as const } };
  const needed = (given: Asked) => {
    const { prefixes, isNamed } = neededRefs(readIntents(resourceOf({ semver: '~1', status, ...given })));
    return { prefixes: prefixes.filter((prefix) => prefix !== 'refs/tags/v1.0.0'), isNamed };
  };
  const both = ['refs/tags/v1.2.0', 'refs/tags/1.2.0'];
  assert.deepEqual(needed({}), { prefixes: [], isNamed: false });
  assert.deepEqual(needed({ request: { ref: 'v1.2.0' } }), { prefixes: both, isNamed: true });
  assert.deepEqual(needed({ request: { ref: 'refs/tags/v1.2.0' } }), { prefixes: ['refs/tags/v1.2.0'], isNamed: true });
  for (const ref of ['~1', 'latest', 'refs/heads/v1.2.0', 'a'.repeat(40)])
    assert.deepEqual(needed({ request: { ref } }), { prefixes: [], isNamed: false }, ref);
  const branch = { ref: 'refs/heads/main' };
  assert.deepEqual(needed({ request: { ref: 'v1.2.0' }, push: branch }), { prefixes: both, isNamed: false });
});
