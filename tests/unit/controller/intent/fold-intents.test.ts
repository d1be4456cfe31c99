import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { REFRESHED_BY } from '../../../../shared/api/names.ts';
import { processorMs } from '../../../support/processor-time.ts';
import { type Asked, at, decideFor, followsMain, refs, resourceOf, second } from '../support/requested-resource.ts';

/** The edit of spec.git.ref was seen in second 20. */
const followsNext: GatewaySyncStatus = { ...followsMain, observedRef: 'next', observedRefTime: at(20) };
/** v1 has been followed since second 10. */
const followsV1: GatewaySyncStatus = {
  ...followsMain,
  target: { ref: 'v1', source: 'Request', requestId: '1' },
  targetTime: at(10),
  lastRequest: { ref: 'v1', id: '1', at: at(10), outcome: 'Applied' },
};
const first = { ref: 'v1', id: '1', at: at(10) };
const appliedV1 = { request: first, status: followsV1 };
const byHand = { ...first, ref: 'v2', edited: true, seenAt: second(30) };
const dev = { allowedRefs: ['dev', 'v*'] };

const edited = { ref: 'next', edits: 1, editSeen: 20 };
const moved = { repo: 'https://git.test/other.git', edits: 1, editSeen: 20 };

const branches = { allowedRefs: ['dev', 'other'] };
const followsDev: GatewaySyncStatus = {
  ...followsV1,
  target: { ref: 'dev', source: 'Request', requestId: '1' },
  lastRequest: { ref: 'dev', id: '1', at: at(10), outcome: 'Applied' },
};
const refreshed = { ...branches, request: { ref: 'dev', id: '2', by: REFRESHED_BY, at: at(25) } };
const toOther = { ref: 'refs/heads/other', at: at(20) };

/** By the followed ref, and the outcomes. Unless a status is specified, main is followed. */
const cases: Record<string, [says: string, given: Asked][]> = {
  main: [['nothing was asked for, nothing seen', { status: {} }]],
  'v1, request Applied': [
    ['a request', { request: first }],
    [
      'a request that still waits',
      {
        request: first,
        status: { ...followsMain, lastRequest: { ...followsV1.lastRequest, ref: 'v1', outcome: 'Pending' } },
      },
    ],
    ['a request whose annotations are gone', { status: followsV1 }],
    [
      'an edit that an earlier leader saw before a request, while the git server was unavailable',
      {
        ...edited,
        editSeen: 90,
        request: { at: at(30) },
        status: { ...followsMain, observedGeneration: 2, observedRefTime: at(20) },
      },
    ],
    [
      'a request, and an edit of a mapping before the git server first responded',
      { edits: 1, editSeen: 90, request: { at: at(30) }, status: { observedGeneration: 2 } },
    ],
    [
      'the ref of the last webhook by hand, after another one by hand',
      {
        request: { ...first, seenAt: second(40) },
        status: {
          ...followsV1,
          target: { ref: 'v2', source: 'Request', requestId: '1' },
          targetTime: at(30),
          lastRequest: { ref: 'v2', by: 'manual', id: '1', at: at(10), seenAt: at(30), outcome: 'Applied' },
        },
      },
    ],
    ['a request older than the resource, which was seen before', { request: { at: at(-60) } }],
    [
      'a wiped status, and a request from after the edit of the ref',
      { ...edited, request: { at: at(30) }, status: {} },
    ],
    ['a request by hand that was delivered together with the resource', { request: { seenAt: second(0) }, status: {} }],
    ['the same repository by another transport', { ...moved, repo: 'git@git.test:app', ...appliedV1 }],
  ],
  'v2, request Applied': [
    ['another ref by hand, next to the time of the last webhook', { request: byHand, status: followsV1 }],
    [
      'another ref by hand, next to the time of a webhook from before an edit',
      { ref: 'next', request: byHand, status: followsNext },
    ],
  ],
  'dev, request Applied, push Superseded': [
    [
      'a refresh, and an older push to another branch that arrives with it',
      { ...refreshed, push: toOther, status: followsDev },
    ],
    [
      'an older push to another branch that arrives after a refresh',
      { ...refreshed, push: toOther, status: decideFor(resourceOf({ ...refreshed, status: followsDev })).status },
    ],
  ],
  'next, request Superseded': [
    ['an edit and an older request', { ...edited, request: first }],
    ['an older request that comes after the edit was seen', { ...edited, request: first, status: followsNext }],
    ['an edit and a request that were delivered together', { ...edited, request: { at: at(30), seenAt: second(20) } }],
    [
      'an edit and a request while no controller ran',
      { ...edited, editSeen: 30, request: { at: at(29), seenAt: second(30) } },
    ],
    [
      'an edit at the time of a request, after that was applied',
      { ...edited, editSeen: 10, request: first, status: { ...followsV1, targetTime: at(10.5) } },
    ],
    [
      'an unreadable time, next to an edit after it was delivered',
      { ...edited, request: { at: '10', seenAt: second(10) } },
    ],
    [
      'a request without a time, which an earlier leader saw before an edit',
      {
        ...edited,
        request: { seenAt: second(90) },
        status: { ...followsMain, lastRequest: { ref: 'v1', seenAt: at(10), outcome: 'Pending' } },
      },
    ],
  ],
  'refs/heads/dev, push Applied': [
    [
      'another branch by hand, next to the time of the last push',
      {
        ref: 'next',
        push: { at: at(10), seenAt: second(30) },
        ...dev,
        status: { ...followsNext, lastPush: { ref: 'refs/heads/main', at: at(10), outcome: 'Applied' } },
      },
    ],
  ],
  'main, request Ignored': [
    ['a request older than the resource', { request: { at: at(-60) }, status: {} }],
    ['a request kept in a manifest', { request: { at: at(5), applied: true } }],
    [
      'another repository, and a request for the branch that was followed in the old one',
      {
        ...moved,
        request: { ref: 'other', at: at(30) },
        status: { ...followsMain, target: { ref: 'other', source: 'Request' }, targetTime: at(10) },
      },
    ],
  ],
  'main, push Ignored': [['a push older than the resource', { push: { at: at(-60) }, ...dev, status: {} }]],
  'refs/heads/dev, request Superseded, push Applied': [
    ['a later push that may be followed, after the release', { ...appliedV1, push: { at: at(20) }, ...dev }],
  ],
  'v1, request Applied, push Superseded': [
    ['a release and an earlier push that may be followed', { request: first, push: { at: at(5) }, ...dev }],
    ['a release and a push of the same moment', { request: first, push: { at: at(10) }, ...dev }],
  ],
  'v1, request Applied, push Applied': [
    ['a release, and a later push to spec.git.ref', { request: first, push: { ref: 'refs/heads/main', at: at(20) } }],
  ],
  'dev, request Applied, push Applied': [
    [
      'a release of a branch that may be followed, and a later push to it',
      { ...branches, request: { ref: 'dev', at: at(10) }, push: { at: at(20) } },
    ],
  ],
  'dev, push Applied': [
    ['a late push from before an edit to its branch', { ...edited, ref: 'dev', push: { at: at(10) } }],
  ],
  'refs/heads/dev, request Ignored, push Applied': [
    [
      'a newer request that is refused does not hold back an older push',
      { request: { ref: 'other', at: at(30) }, push: { at: at(20) }, ...dev },
    ],
  ],
  'refs/heads/dev, request Failed, push Applied': [
    [
      'a newer request for what does not exist does not hold back an older push',
      { request: { ref: 'v9', at: at(30) }, push: { at: at(20) }, ...dev },
    ],
  ],
  'main, request Superseded': [['another repository, and the tag of the old one', { ...moved, ...appliedV1 }]],
  'main, push Superseded': [
    [
      'another repository, and a push of the old one',
      {
        ...moved,
        push: { at: at(10) },
        ...dev,
        status: { ...followsMain, target: { ref: 'refs/heads/dev', source: 'Push' }, targetTime: at(10) },
      },
    ],
  ],
};

suite('among intents with', () => {
  const rows = Object.entries(cases).flatMap(([expected, group]) => group.map((row) => [...row, expected] as const));
  for (const [says, asked, expected] of rows) {
    const given = { status: followsMain, ...asked };
    test(`${says}: ${expected}`, () => {
      const { status } = decideFor(resourceOf(given));
      const { target, lastSyncRef, lastRequest, lastPush } = status;
      const outcomes = Object.entries({ request: lastRequest, push: lastPush }).flatMap(([kind, echo]) =>
        echo ? `${kind} ${echo.outcome}` : [],
      );
      assert.deepEqual([target?.ref, ...outcomes].join(', '), expected);
      assert.equal(lastSyncRef, target?.ref);
      const again = decideFor({ ...resourceOf(given), status });
      assert.deepEqual(again.status, status, 'a second reconcile changes nothing');
    });
  }

  for (const time of ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00+23:59', '0001-01-01T00:00:00+00:01']) {
    test(`a time ${time} that no API server stores, the time of delivery counts`, () => {
      const { status } = decideFor(resourceOf({ request: { at: time }, status: followsMain }));
      assert.equal(status.lastRequest?.outcome, 'Applied');
      assert.equal(status.targetTime, at(10_000));
    });
  }

  for (const forged of ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+23:59'])
    test(`a forged time ${forged} in the status, an edit gets a valid one`, () => {
      const given = { ...edited, status: { ...followsV1, targetTime: forged } };
      assert.match(decideFor(resourceOf(given)).status.observedRefTime ?? '', /^\d{4}-/);
    });

  test('an edit that requests nothing and is reverted, spec.git.ref is followed', () => {
    const lost = decideFor(
      resourceOf({ ref: 'nowhere', edits: 1, editSeen: 20, request: first, status: followsV1 }),
    ).status;
    assert.deepEqual([lost.target?.ref, lost.lastRequest?.outcome], ['v1', 'Superseded']);
    const back = decideFor(resourceOf({ ref: 'main', edits: 2, editSeen: 30, request: first, status: lost })).status;
    assert.deepEqual([back.target?.ref, back.lastRequest?.outcome], ['main', 'Superseded']);
  });

  test('a tag that is gone, nothing else is followed in its place', () => {
    const gone = new Map([...refs].filter(([name]) => name !== 'refs/tags/v1'));
    const { status } = decideFor(resourceOf({ request: first, status: followsV1 }), {
      query: { kind: 'refs', refs: gone },
    });
    assert.deepEqual([status.target?.ref, status.lastRequest?.outcome], ['v1', 'Applied']);
    assert.equal(status.refResolutionStatus, 'Error');
  });
});

suite('a request for a commit hash', () => {
  const hash = '9'.repeat(40);
  const tips = (...names: string[]) => new Map([...refs, [hash, hash], ...names.map((name) => [name, hash] as const)]);
  const cases: [tips: string[], allowedRefs: string[], outcome: string][] = [
    [['refs/tags/v9', 'refs/heads/dev'], ['dev'], 'Applied'],
    [['refs/heads/dev', 'refs/tags/v9'], [], 'Applied'],
    [['refs/heads/main', 'refs/tags/v9'], ['v1'], 'Applied'],
    [['refs/heads/dev', 'refs/tags/v9'], ['v1', 'other'], 'Ignored'],
    [['refs/heads/dev', 'refs/pull/1/head'], [], 'Ignored'],
    [[], ['dev'], 'Ignored'],
    [[], ['?'.repeat(40)], 'Applied'],
    [[], ['?'.repeat(64)], 'Ignored'],
  ];
  for (const [names, allowedRefs, outcome] of cases) {
    test(`at ${names.join(' and ') || 'no tip'} is ${outcome} if ${JSON.stringify(allowedRefs)} is allowed`, () => {
      const asked = resourceOf({ request: { ref: hash, at: at(10) }, allowedRefs });
      const { status } = decideFor(asked, { query: { kind: 'refs', refs: tips(...names) } });
      assert.equal(status.lastRequest?.outcome, outcome);
    });
  }

  const judge = (names: string[], allowedRefs: string[]) => {
    const resource = resourceOf({ request: { ref: hash, at: at(10) } });
    resource.spec.webhook.allowedRefs = allowedRefs;
    return decideFor(resource, { query: { kind: 'refs', refs: tips(...names) } }).status.lastRequest;
  };
  const namesOf = (count: number, name: string) => Array.from({ length: count }, (_, n) => `refs/heads/${name}${n}`);

  test('is ignored with the glob that allows it, unless a tip makes it a name', () => {
    const [, glob = ''] = / (\S*\?{8}\S*)/.exec(judge([], [])?.message ?? '') ?? [];
    assert.equal(judge([], [glob])?.outcome, 'Applied');
    assert.match(judge([], [])?.message ?? '', /^commit 9{40} /);
    assert.match(judge(['refs/heads/dev'], [])?.message ?? '', /^refs\/heads\/dev .* spec\.webhook\.allowedRefs$/);
  });

  test('is compared with each of hundreds of tips', () => {
    const names = [...namesOf(500, 'feature/some-honest-name-'), 'refs/heads/release/1.0'];
    const globs = Array.from({ length: 10 }, (_, n) => `hotfix-${n}/**`);
    assert.equal(judge(names, [...globs, 'release/*'])?.outcome, 'Applied');
    assert.equal(judge(names, globs)?.outcome, 'Ignored');
  });

  for (const glob of [`${'*a'.repeat(120)}*b`, `${'?'.repeat(200)}*b`, `{${'*a*,'.repeat(60)}}b`]) {
    test(`is decided fast, whatever a tenant allows and a server shows: ${glob.slice(0, 10)}…`, () => {
      const globs = Array.from({ length: 64 }, (_, n) => `${glob}${n}`);
      for (const length of [240, 1_000]) {
        const started = processorMs();
        const { outcome, message = '' } = judge(namesOf(9_990, 'a'.repeat(length)), globs) ?? {};
        const tookMs = processorMs() - started;
        assert.equal(outcome, 'Ignored');
        assert.match(message, length === 240 ? / spec\.webhook\.allowedRefs; / : /^commit 9{40} /);
        assert.ok(tookMs < 1_000, `${tookMs} ms`);
      }
    });
  }
});

suite('a push event', () => {
  const branches: [branch: string, allowedRefs: string[], outcome: string][] = [
    ['refs/heads/dev', [], 'Ignored'],
    ['refs/heads/dev', ['v*', 'refs/heads/d*'], 'Applied'],
    ['refs/heads/dev/x', ['dev*'], 'Ignored'],
    ['refs/heads/dev/x', ['dev/**'], 'Applied'],
    ['refs/heads/dev', ['!main'], 'Ignored'],
  ];
  const outcomeOf = (branch: string, allowedRefs: string[]) => {
    const answer = { kind: 'refs' as const, refs: new Map([...refs, [branch, '9'.repeat(40)]]) };
    return decideFor(resourceOf({ push: { ref: branch, at: at(10) }, allowedRefs }), { query: answer }).status.lastPush
      ?.outcome;
  };
  for (const [branch, allowedRefs, outcome] of branches) {
    test(`to ${branch} is ${outcome} if ${JSON.stringify(allowedRefs)} is allowed`, () => {
      assert.equal(outcomeOf(branch, allowedRefs), outcome);
    });
  }
});
