import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { FoundRefs } from '../../../../controller/polling/query-result.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { type Asked, at, refs as branches, decideFor, resourceOf, second } from '../support/requested-resource.ts';

const commitOf = (tag: string) => Buffer.from(tag).toString('hex').padEnd(40, '0').slice(0, 40);

function tagsOf(tags: readonly string[], count = tags.length): FoundRefs {
  const refs = new Map(tags.map((tag) => [`refs/tags/${tag}`, commitOf(tag)]));
  return { refs, tags: { counts: new Map([['', count]]), skipped: new Set() } };
}

function reconcile(asked: Asked, found: FoundRefs, now?: number) {
  const { status, ...rest } = decideFor(resourceOf({ semver: '~1.4', ...asked }), {
    query: { kind: 'refs', ...found },
    ...(now !== undefined && { now }),
  });
  return { ...rest, status, resolved: status.conditions?.find(({ type }) => type === 'RefResolved') };
}

/** The status after these tags were there. */
const following = (tags: readonly string[], asked: Asked = {}): GatewaySyncStatus =>
  reconcile(asked, tagsOf(tags)).status;

suite('spec.git.semver', () => {
  test('follows the newest tag in the range, with the range in the status', () => {
    const { status, resolved } = reconcile({}, tagsOf(['v1.3.0', 'v1.4.0', 'v1.4.1', 'v2.0.0']));
    assert.deepEqual(status.target, { ref: 'v1.4.1', range: '~1.4', source: 'Spec' });
    assert.equal(status.lastSyncCommit, commitOf('v1.4.1'));
    assert.equal(status.observedSemver, '~1.4');
    assert.equal(status.observedRef, undefined);
    assert.match(resolved?.message ?? '', /^v1\.4\.1, .* ~1\.4, is /);
  });

  test('reports a range that no tag is in, with the number of tags and the newest one', () => {
    const { status, resolved } = reconcile({}, tagsOf(['v2.0.0'], 7));
    assert.deepEqual([resolved?.status, resolved?.reason], ['False', 'NoMatchingTag']);
    assert.match(resolved?.message ?? '', / ~1\.4: .* 7 .* v2\.0\.0/);
    assert.equal(status.target, undefined);
    assert.equal(status.pendingRef, '~1.4');
    assert.match(reconcile({}, tagsOf([], 0)).resolved?.message ?? '', /has no tags;/);
  });

  const unreadable: [tag: string, words: RegExp][] = [
    ['2026.02.0', /\b02 /],
    ['v1.5', /\(v1\.5 /],
    ['1.5.0.1', /\(1\.5\.0\.1 /],
    ['V1.5.0', / spec\.git\.tagPrefix .* V\b/],
    ['site-v1.6.0', / spec\.git\.tagPrefix .* site-\)/],
    ['v1.5.0rc1', /, \w+ rc1 .* 1\.2\.3-rc1\b/],
    ['v1.5.0-rc_1', /, \w+ -rc_1 /],
    ['v1.5.99999999999999999', /\b99999999999999999\b/],
    ['latest', /\(latest /],
  ];
  for (const [tag, words] of unreadable)
    test(`reports why ${tag} isn't a version if no tag is one`, () => {
      const { resolved } = reconcile({ semver: '*' }, tagsOf([tag]));
      assert.deepEqual([resolved?.status, resolved?.reason], ['False', 'NoVersionTag']);
      assert.match(resolved?.message ?? '', words);
    });

  test("reports a newer tag that looks as if it were in the range, but isn't a version", () => {
    const missed = (semver: string, tags: string[]) => {
      const { status, resolved } = reconcile({ semver }, tagsOf(tags));
      assert.equal(resolved?.reason, 'Resolved');
      return [status.target?.ref, tags.find((tag) => resolved?.message.includes(` tag ${tag} isn't `))];
    };
    assert.deepEqual(missed('>=2025', ['2025.11.1', '2026.02.0']), ['2025.11.1', '2026.02.0']);
    assert.deepEqual(missed('*', ['v1.4.1', 'v1.5']), ['v1.4.1', 'v1.5']);
    assert.deepEqual(missed('*', ['v1.4.1', 'v1.4.1.1']), ['v1.4.1', 'v1.4.1.1']);
    assert.deepEqual(missed('~1.4', ['v1.4.1', 'v1.5']), ['v1.4.1', undefined], 'out of range');
    assert.deepEqual(missed('*', ['v1.4.1', 'v1.4']), ['v1.4.1', undefined], 'older');
    assert.deepEqual(missed('*', ['v1.4.1', 'v2']), ['v1.4.1', undefined], 'a tag that moves');
    assert.deepEqual(missed('*', ['v1.4.1', 'site-v2.0.0', 'latest']), ['v1.4.1', undefined], 'of another kind');
  });

  test('follows only tags with the prefix in spec.git.tagPrefix', () => {
    const tags = ['v9.0.0', 'app-v9.0.0', 'site-v1.5.0', 'site-1.6.0', 'site-v2', 'site-v3.0.0-rc.1'];
    const asked = { semver: '*', tagPrefix: 'site-' };
    const { status, resolved } = reconcile(asked, tagsOf(tags));
    assert.deepEqual(status.target, { ref: 'site-1.6.0', range: '*', tagPrefix: 'site-', source: 'Spec' });
    assert.equal(status.observedTagPrefix, 'site-');
    assert.match(resolved?.message ?? '', /^site-1\.6\.0, .* \* .* site-, /);
    const request = { ref: 'refs/tags/site-v1.6.0', at: at(10) };
    assert.equal(reconcile({ ...asked, status, request }, tagsOf(tags)).status.lastRequest?.outcome, 'Applied');
    const reasonOf = (ref: string) =>
      reconcile({ ...asked, status, request: { ref, at: at(10) } }, tagsOf(tags)).status.lastRequest?.reason;
    assert.deepEqual(['app-v9.0.0', '1.6.0', 'site-v1.5.0', 'site-v2'].map(reasonOf), [
      'OtherPrefix',
      'OtherPrefix',
      'NotNewest',
      'NotAVersion',
    ]);
    const deleted = reconcile({ ...asked, status }, tagsOf(['site-v1.5.0']));
    assert.deepEqual([deleted.status.target?.ref, deleted.resolved?.reason], ['site-1.6.0', 'TagDeleted']);
  });

  test('begins again with another prefix', () => {
    const tags = tagsOf(['site-v9.0.0', 'v1.4.1']);
    const { status } = reconcile({ semver: '*', tagPrefix: 'site-' }, tags);
    const edited = reconcile({ semver: '*', status }, tags).status;
    assert.deepEqual(edited.target, { ref: 'v1.4.1', range: '*', source: 'Spec' });
    assert.equal(edited.observedTagPrefix, undefined);
  });

  test('reports a prefix that no tag has', () => {
    const { resolved } = reconcile({ tagPrefix: 'site-' }, tagsOf(['v1.4.1']));
    assert.equal(resolved?.reason, 'NoMatchingTag');
    assert.match(resolved?.message ?? '', / site-;/);
  });

  test('stays on a tag that is deleted, until there is a newer one', () => {
    const status = following(['v1.4.0', 'v1.4.1']);
    for (const left of [['v1.4.0'], []]) {
      const deleted = reconcile({ status }, tagsOf(left));
      assert.equal(deleted.status.lastSyncCommit, commitOf('v1.4.1'));
      assert.deepEqual(deleted.status.target, status.target);
      assert.deepEqual([deleted.resolved?.status, deleted.resolved?.reason], ['True', 'TagDeleted']);
      const event = { type: 'Warning', reason: 'TagDeleted', message: deleted.resolved?.message };
      assert.deepEqual(deleted.transitions, [event]);
      assert.deepEqual(reconcile({ status: deleted.status }, tagsOf(left)).transitions, [], 'one event is enough');
      const newer = reconcile({ status: deleted.status }, tagsOf([...left, 'v1.4.2']));
      assert.equal(newer.status.lastSyncCommit, commitOf('v1.4.2'));
    }
    const spelled = reconcile({ status }, tagsOf(['v1.4.0', '1.4.1']));
    assert.equal(spelled.status.target?.ref, '1.4.1', 'the same version under another name');
  });

  test('begins again in another repository', () => {
    const status = following(['v1.4.9']);
    const moved = reconcile({ status, repo: 'https://git.test/other.git' }, tagsOf(['v1.4.1']));
    assert.equal(moved.status.target?.ref, 'v1.4.1');
  });

  test('follows a tag that is moved, with an event that names both commits', () => {
    const status = following(['v1.4.1']);
    const refs = new Map([['refs/tags/v1.4.1', 'b'.repeat(40)]]);
    const moved = reconcile({ status }, { refs });
    assert.equal(moved.status.lastSyncCommit, 'b'.repeat(40));
    const { type, message = '' } = moved.transitions.find(({ reason }) => reason === 'TagMoved') ?? {};
    assert.equal(type, 'Warning');
    for (const part of ['v1.4.1', commitOf('v1.4.1'), 'b'.repeat(40)]) assert.ok(message.includes(part), part);
  });

  test('stays outside a tag that is moved after an edit excluded it', () => {
    const status = following(['v1.4.1', 'v1.4.2']);
    const edited = { semver: '~1.4 <1.4.2' };
    const back = reconcile({ ...edited, status }, tagsOf(['v1.4.1', 'v1.4.2'])).status;
    assert.equal(back.target?.ref, 'v1.4.1');
    const moved = new Map([...tagsOf(['v1.4.1']).refs, ['refs/tags/v1.4.2', 'b'.repeat(40)]]);
    assert.equal(reconcile({ ...edited, status: back }, { refs: moved }).status.lastSyncCommit, commitOf('v1.4.1'));
  });

  test('keeps the tag while the git server is unavailable', () => {
    const status = following(['v1.4.1']);
    const error = new TransientError('down', { code: 'git.timeout', reason: 'GitTimeout' });
    for (const lastGood of [undefined, tagsOf(['v1.4.1'])]) {
      const query = { kind: 'error' as const, error, lastGood, retryAfterMs: 1 };
      const { status: after } = decideFor(resourceOf({ semver: '~1.4', status }), { query });
      assert.deepEqual(after.target, status.target);
      assert.equal(after.lastSyncCommit, status.lastSyncCommit);
      assert.equal(after.conditions?.find(({ type }) => type === 'RefResolved')?.status, 'True');
    }
  });

  test('reports that a repository with more than 5,000 tags is polled less often', () => {
    const messageFor = (tag: string, count: number) => reconcile({}, tagsOf([tag], count)).resolved?.message ?? '';
    for (const tag of ['v1.4.1', 'v2.0.0']) assert.match(messageFor(tag, 5_001), / 5m .* 60s$/);
    assert.doesNotMatch(messageFor('v1.4.1', 5_000), /polled/);
  });

  test('takes the place of a requested tag, and of a ref', () => {
    const requested = decideFor(resourceOf({ request: { ref: 'v2', at: at(10) } })).status;
    assert.equal(requested.target?.source, 'Request');
    const { status } = reconcile({ status: requested, request: { ref: 'v2', at: at(10) } }, tagsOf(['v1.4.1']));
    assert.equal(status.target?.ref, 'v1.4.1');
    assert.equal(status.lastRequest?.outcome, 'Superseded');
    const back = decideFor(resourceOf({ status }), { query: { kind: 'refs', refs: branches } }).status;
    assert.deepEqual(back.target, { ref: 'main', source: 'Spec' });
    assert.equal(back.observedSemver, undefined);
  });
});

suite('a request to a resource with spec.git.semver', () => {
  const tags = ['v1.4.0', 'v1.4.1', 'v2.0.0'];
  const status = following(tags);
  const outcomeOf = (ref: string, now?: number) => {
    const after = reconcile({ status, request: { ref, at: at(10) } }, tagsOf(tags), now).status;
    assert.equal(after.target?.ref, 'v1.4.1', 'a request never chooses the tag');
    return after.lastRequest;
  };

  test('is Applied if it asks for what is followed', () => {
    for (const ref of ['v1.4.1', '1.4.1', 'refs/tags/v1.4.1', commitOf('v1.4.1'), '~1.4'])
      assert.equal(outcomeOf(ref)?.outcome, 'Applied', ref);
  });

  const reasons: [ref: string, reason: string][] = [
    ['v1.4.0', 'NotNewest'],
    ['v2.0.0', 'OutOfRange'],
    ['v1.4.9', 'TagNotFound'],
    ['main', 'NotAVersion'],
    ['--upload-pack=x', 'NotAVersion'],
    ['refs/heads/v1.4.2', 'NotATag'],
    [commitOf('v2.0.0'), 'NotATag'],
  ];
  for (const [ref, expected] of reasons)
    test(`is Ignored for ${ref} because of ${expected}, with the tag that is followed`, () => {
      const { outcome, reason, message } = outcomeOf(ref) ?? {};
      assert.deepEqual([outcome, reason], ['Ignored', expected]);
      assert.match(message ?? '', /v1\.4\.1 .* ~1\.4 \(spec\.git\.semver\)$/);
    });

  test('waits up to a minute for a tag that would be followed', () => {
    assert.equal(outcomeOf('v1.4.2', second(15))?.outcome, 'Pending');
    assert.equal(outcomeOf('v1.4.2', second(70))?.outcome, 'Ignored');
    assert.equal(outcomeOf('v1.5.0', second(15))?.outcome, 'Ignored');
  });

  test('is Superseded when a newer tag is followed', () => {
    const request = { ref: 'v1.4.1', at: at(10) };
    const applied = reconcile({ status, request }, tagsOf(tags)).status;
    const later = reconcile({ status: applied, request }, tagsOf([...tags, 'v1.4.2'])).status;
    assert.equal(later.target?.ref, 'v1.4.2');
    assert.equal(later.lastRequest?.outcome, 'Superseded');
    assert.match(later.lastRequest.message ?? '', /^v1\.4\.2 .* ~1\.4 \(spec\.git\.semver\)/);
    assert.deepEqual(reconcile({ status: later, request }, tagsOf([...tags, 'v1.4.2'])).status, later, 'it rests');
  });

  test('for a tag with another prefix is Ignored without a warning', () => {
    const asked = { semver: '*', tagPrefix: 'site-', request: { ref: 'app-v9.0.0', at: at(10) } };
    const { transitions } = reconcile(asked, tagsOf(['site-v1.0.0']));
    assert.deepEqual(
      transitions.filter(({ reason }) => reason === 'RequestIgnored').map(({ type }) => type),
      ['Normal'],
    );
  });

  test('of a branch by a push is Ignored without a warning, and moves nothing', () => {
    const typesOf = (push: NonNullable<Asked['push']>) => {
      const { status: after, transitions } = reconcile({ status, push }, tagsOf(tags));
      assert.equal(after.lastPush?.outcome, 'Ignored');
      assert.deepEqual(after.target, status.target);
      return transitions.filter(({ reason }) => reason === 'PushIgnored').map(({ type }) => type);
    };
    assert.deepEqual(typesOf({ ref: 'refs/heads/main' }), ['Normal'], 'it looked for a newer tag');
    assert.deepEqual(typesOf({ ref: 'refs/heads/main', applied: true }), ['Warning']);
  });
});
