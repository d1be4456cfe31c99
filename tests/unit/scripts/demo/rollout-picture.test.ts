import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Ink } from '../../../../cli/terminal/ink.ts';
import { drawLine, drawPicture } from '../../../../scripts/demo/rollout/draw.ts';
import { type GatewayPod, type Picture, pictureOf } from '../../../../scripts/demo/rollout/picture.ts';
import { seenByWaves, seenToFail } from '../../../../scripts/demo/rollout/seen.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../../../shared/api/sync-report.ts';
import { planOf, rolloutKey } from '../../../../shared/domain/waves.ts';
import { gatewaySyncOf, rolloutStatusOf } from '../../../support/objects.ts';

const NEW = 'b'.repeat(40);
const OLD = 'a'.repeat(40);
const revision = '1'.repeat(32);
const waves = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }];
const pods: GatewayPod[] = [
  { name: 'a', labels: { tier: 'canary' } },
  { name: 'b', labels: {} },
  { name: 'c', labels: {} },
];
/** The others in the order in which they are admitted. */
const rest = ['b', 'c'].sort((x, y) => (rolloutKey(x, x) < rolloutKey(y, y) ? -1 : 1));

interface Given {
  status?: Partial<RolloutStatus>;
  /** The last key of each wave that may have the commit. */
  admitted?: [canary: string, rest: string];
  reports?: Record<string, Partial<SyncReportStatus>>;
}

function picture({ status = {}, admitted = ['', ''], reports = {} }: Given = {}): Picture {
  const rollout: RolloutStatus = {
    number: 7,
    phase: 'Progressing',
    wave: 'canary',
    summary: 'canary 0/1',
    startedAt: '2026-01-01T00:00:00Z',
    commit: NEW,
    ref: 'main',
    revision,
    stableCommit: OLD,
    stableRef: 'main',
    stableRevision: revision,
    admitted: 0,
    verified: 0,
    failed: 0,
    total: 3,
    plan: planOf(waves),
    admission: [
      { wave: 'canary', members: 'all', admitted: admitted[0] },
      { wave: 'rest', members: 'all', admitted: admitted[1] },
    ],
    ...status,
  };
  const gatewaySync = gatewaySyncOf({ spec: { rollout: { waves } }, status: { rollout } });
  const old: SyncReportStatus = { state: 'Synced', commit: OLD, revision, rollout: 6 };
  const said = new Map(pods.map(({ name }) => [name, { ...old, ...reports[name] }]));
  return pictureOf(gatewaySync, pods, said) as Picture;
}

const looks = ({ waves }: Picture) => waves.map(({ gateways }) => gateways.map(({ look }) => look).join(' '));
const marks = ({ waves }: Picture) => waves.map(({ mark }) => mark).join(' ');
const isNew = { commit: NEW, rollout: 7 };
const back: Partial<RolloutStatus> = { number: 8, phase: 'RollingBack', failures: ['a'] };

suite('a picture of a rollout', () => {
  const rows: [string, Given, [canary: string, rest: string], marks: string][] = [
    ['no gateway is admitted', {}, ['old', 'old old'], 'underWay waiting'],
    ['the canary is admitted', { admitted: ['all', ''] }, ['onItsWay', 'old old'], 'underWay waiting'],
    [
      'a report is about an earlier rollout',
      { admitted: ['all', ''], reports: { a: { ...isNew, rollout: 6 } } },
      ['onItsWay', 'old old'],
      'underWay waiting',
    ],
    [
      'the canary has the commit',
      { admitted: ['all', ''], reports: { a: isNew } },
      ['new', 'old old'],
      'underWay waiting',
    ],
    [
      'the verification is still running',
      { admitted: ['all', ''], reports: { a: { ...isNew, verification: 'Running' } } },
      ['onItsWay', 'old old'],
      'underWay waiting',
    ],
    [
      'the verification failed',
      { admitted: ['all', ''], reports: { a: { ...isNew, verification: 'Failed' } } },
      ['failed', 'old old'],
      'failed waiting',
    ],
    [
      "the canary can't apply the commit",
      { admitted: ['all', ''], reports: { a: { rollout: 7, state: 'Error', hasFailed: true } } },
      ['failed', 'old old'],
      'failed waiting',
    ],
    [
      'the next wave began with one gateway',
      { status: { wave: 'rest' }, admitted: ['all', rolloutKey(rest[0]!, rest[0]!)], reports: { a: isNew } },
      ['new', 'onItsWay old'],
      'done underWay',
    ],
    [
      'all gateways have the commit',
      {
        status: { phase: 'Complete', wave: 'rest' },
        admitted: ['all', 'all'],
        reports: { a: isNew, b: isNew, c: isNew },
      },
      ['new', 'new new'],
      'done done',
    ],
    [
      'the rollout is being rolled back',
      { status: back, reports: { a: { rollout: 7, state: 'Error', hasFailed: true } } },
      ['failed', 'old old'],
      'failed back',
    ],
    [
      'another gateway is rolled back as well',
      { status: back, reports: { a: isNew, b: isNew } },
      ['failed', rest[0] === 'b' ? 'onItsWay old' : 'old onItsWay'],
      'failed back',
    ],
    [
      'the rollback is complete',
      { status: { ...back, phase: 'RolledBack' }, reports: { a: { rollout: 8 } } },
      ['old', 'old old'],
      'back back',
    ],
  ];
  for (const [what, given, expectedLooks, expectedMarks] of rows)
    test(`is correct when ${what}`, () => {
      const found = picture(given);
      assert.deepEqual(looks(found), expectedLooks);
      assert.equal(marks(found), expectedMarks);
    });

  test('counts the same gateways in progress as the controller', () => {
    assert.equal(picture({ status: { admitted: 3, verified: 1, failed: 1 } }).inProgress, 1);
  });

  test('is missing if the admission belongs to other waves', () => {
    const gatewaySync = gatewaySyncOf({
      spec: { rollout: { waves } },
      status: { rollout: rolloutStatusOf({ plan: 'another' }) },
    });
    assert.equal(pictureOf(gatewaySync, pods, new Map()), undefined);
  });
});

const tagged: Ink = (colour, text) => `<${colour} ${text}>`;
const plain: Ink = (_, text) => text;

suite('the drawing of a rollout', () => {
  const soaking = picture({
    status: { phase: 'Soaking', summary: 'canary 1/1, soaking 2s' },
    admitted: ['all', ''],
    reports: { a: isNew },
  });

  test('has a line per wave, a bar per gateway, and the elapsed share of the soak time', () => {
    assert.deepEqual(drawPicture(soaking, { seconds: 1.23, soaked: 0.5, ink: plain }), [
      '  ▶ canary  ██████ a            ━━━━━─────',
      `    rest    ░░░░░░ ${rest[0]}  ░░░░░░ ${rest[1]}`,
      '     1.2 s  canary 1/1, soaking 2s',
    ]);
  });

  test('is colored in green, yellow, red, and gray', () => {
    const colours = (given: Given) =>
      drawPicture(picture(given), { seconds: 0, soaked: 0, ink: tagged })
        .join('')
        .match(/<\w+ [░▒█╳]+>/g);
    assert.deepEqual(colours({ admitted: ['all', ''] }), ['<yellow ▒▒▒▒▒▒>', '<grey ░░░░░░>', '<grey ░░░░░░>']);
    assert.equal(colours({ admitted: ['all', ''], reports: { a: isNew } })?.[0], '<green ██████>');
    assert.equal(colours({ status: back })?.[0], '<red ╳╳╳╳╳╳>');
  });

  test("fits into one line if the cursor can't move", () => {
    assert.equal(
      drawLine(soaking, { seconds: 12.34, ink: plain }),
      '  12.3 s  canary █  rest ░░  canary 1/1, soaking 2s',
    );
  });
});

suite('the observations of a rollout', () => {
  const at = (atMs: number, given: Given) => ({ atMs, picture: picture(given) });
  const canaryHasIt = { admitted: ['all', ''], reports: { a: isNew } } as Given;
  const allHaveIt: Given = { admitted: ['all', 'all'], reports: { a: isNew, b: isNew, c: isNew } };

  test('contain the time at which each wave had the commit', () => {
    const frames = [at(10, { admitted: ['all', ''] }), at(20, canaryHasIt), at(30, allHaveIt)];
    assert.deepEqual(seenByWaves(frames, NEW, {}), [
      { wave: 'canary', atMs: 20 },
      { wave: 'rest', atMs: 30 },
    ]);
  });

  test('end in an error if a wave began too early, had too many gateways in progress, or never got the commit', () => {
    assert.throws(() => seenByWaves([at(1, { admitted: ['all', 'all'] })], NEW, {}), /before canary was complete/);
    const busy = at(1, { status: { admitted: 2 } });
    assert.throws(() => seenByWaves([busy], NEW, { canary: 1 }), /2 gateways of canary were in progress/);
    assert.throws(() => seenByWaves([at(1, canaryHasIt)], NEW, {}), /the wave rest did not get the commit/);
  });

  test('contain the gateways that failed, and the time of the rollback', () => {
    const failed = at(10, { status: back });
    const isBack = at(20, { status: { ...back, phase: 'RolledBack' }, reports: { a: { rollout: 8 } } });
    assert.deepEqual(seenToFail([failed, isBack], NEW), { gateways: ['a'], failedMs: 10, backMs: 20 });
    assert.throws(() => seenToFail([failed], NEW), /not rolled back/);
    assert.throws(() => seenToFail([failed, at(15, allHaveIt), isBack], NEW), /although the first wave failed/);
  });
});
