import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { judgePreview } from '../../../../agent/resource/judge-preview.ts';
import type { Intent } from '../../../../agent/resource/judge-resource.ts';
import { type ProfileView, viewProfile } from '../../../../agent/resource/stored-syncs.ts';
import { planOf } from '../../../../shared/domain/rollout/waves.ts';
import { gatewaySpecOf, rolloutStatusOf } from '../../../support/objects.ts';

const OLD = 'a'.repeat(40);
const NEW = 'b'.repeat(40);
const LIVE = '1'.repeat(32);
const BEFORE = '2'.repeat(32);
const labels = new Map([['site', 'x']]);
const syncOf = (source: string, settings: object = {}, name = 'default') =>
  gatewaySpecOf({ sync: { profiles: { [name]: { mappings: [{ source, destination: 'x' }], ...settings } } } }).sync;

const preview = {
  commit: NEW,
  ref: 'v2',
  revision: LIVE,
  release: 'app-7',
  startedAt: '2026-01-01T00:00:00Z',
  total: 1,
  reported: 0,
};
const statusOf = (changes: object = {}) => ({
  ...rolloutStatusOf({ number: 7, phase: 'Previewing', commit: NEW, ref: 'v2', revision: LIVE }),
  stableCommit: OLD,
  stableRef: 'v1',
  stableRevision: BEFORE,
  stableRelease: 'app-6',
  plan: planOf([]),
  admission: [{ wave: 'rest', members: 'all', admitted: '' }],
  preview,
  ...changes,
});

interface Given {
  status?: unknown;
  sync?: ReturnType<typeof syncOf>;
  before?: ProfileView | string;
  known?: ReadonlyMap<string, string> | undefined;
  generation?: number;
}

function judge({ status = statusOf(), sync = syncOf('new'), generation = 1, ...rest }: Given) {
  const resource = {
    generation,
    observedGeneration: undefined,
    ref: undefined,
    commit: undefined,
    gateways: 1,
    refResolved: undefined,
    spec: { ...gatewaySpecOf(), sync, paused: true },
    rollout: { waves: [], status, revision: LIVE, earlier: [] },
  };
  const { before = viewProfile(syncOf('old'), 'default') } = rest;
  return judgePreview(resource, 'default', {
    self: () => ({ identity: { podName: 'p', gatewayName: undefined }, labels: 'known' in rest ? rest.known : labels }),
    findSync: ({ release }) => (release === 'app-6' ? before : `no release ${release}`),
  });
}

const sourceOf = (intent: Intent | string) =>
  typeof intent === 'string' ? intent : [intent.commit, intent.revision, intent.profile.mappings[0]?.source];

suite('the release to preview', () => {
  test('is that of the status, compared with the stable one, also for paused gateways and dry runs', () => {
    const verdict = judge({ sync: syncOf('new', { paused: true, dryRun: true }) });
    assert.ok(verdict.kind === 'preview');
    const { candidate, stable, commit, revision } = verdict.task;
    assert.deepEqual([commit, revision], [NEW, LIVE]);
    assert.deepEqual(
      [sourceOf(candidate), stable && sourceOf(stable)],
      [
        [NEW, LIVE, 'new'],
        [OLD, BEFORE, 'old'],
      ],
    );
    assert.ok(typeof candidate === 'object');
    assert.deepEqual([candidate.profile.paused, candidate.profile.dryRun], [false, false]);
  });

  test('is compared with none if the stable one is unknown', () => {
    const unknown = {
      stableCommit: undefined,
      stableRef: undefined,
      stableRevision: undefined,
      stableRelease: undefined,
    };
    const verdict = judge({ status: statusOf(unknown), before: 'not at hand' });
    assert.ok(verdict.kind === 'preview');
    assert.deepEqual([sourceOf(verdict.task.candidate), verdict.task.stable], [[NEW, LIVE, 'new'], undefined]);
  });

  test('is the same while only counts or the generation change', () => {
    const more = statusOf({ preview: { ...preview, reported: 1 }, number: 8, message: 'x' });
    assert.deepEqual(judge({ status: more, generation: 2 }), judge({}));
    assert.notDeepEqual(judge({ known: new Map([['site', 'y']]) }), judge({}));
  });

  test('is the problem itself if it lacks the profile', () => {
    const verdict = judge({ sync: syncOf('new', {}, 'other') });
    assert.ok(verdict.kind === 'preview' && typeof verdict.task.candidate === 'string');
    assert.match(verdict.task.candidate, / default, .* other/);
  });

  test('is unknown until its revision, the stable one, and the labels are known', () => {
    for (const given of [{ before: 'not at hand' }, { known: undefined }]) {
      assert.deepEqual(judge(given), { kind: 'waiting', commit: NEW });
    }
  });

  test('does not exist without a preview, or with one that no controller writes', () => {
    for (const changes of [
      { preview: undefined },
      { preview: { ...preview, commit: '--upload-pack=x' } },
      { preview: { ...preview, revision: '../x' } },
      { preview: 'x' },
    ]) {
      const verdict = judge({ status: statusOf(changes) });
      assert.ok(verdict.kind === 'none');
      assert.equal(verdict.own?.commit, OLD, 'the gateway still follows its own release');
    }
    assert.deepEqual(judge({ status: null }), { kind: 'none', own: undefined });
    assert.deepEqual(judgePreview(undefined, 'default', {} as never), { kind: 'none', own: undefined });
  });
});
