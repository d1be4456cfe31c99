import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { syncRevision } from '../../../../../shared/domain/rollout/sync-revision.ts';
import { fc } from '../../../../support/property.ts';

const mapping = { source: 'a', destination: 'b', required: true, template: false };
const sync = { defaults: { syncPeriod: 30, vars: { site: 'x' } }, profiles: { default: { mappings: [mapping] } } };

/** The same value with the keys of all objects the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, reversed(each)] as const);
  return Object.fromEntries(entries.reverse());
}

suite('the revision of spec.sync', () => {
  test('stays the same across releases: another hash would have every gateway sync again', () => {
    const switches = { paused: true, dryRun: true };
    const defaults = { ...switches, syncPeriod: 30, vars: { site: 'x', B: '2', a: '1' } };
    const profiles = {
      b: { ...switches, mappings: [{ source: 'a', destination: 'b/ü', required: true, template: false }] },
      a: {},
    };
    const golden: [value: unknown, revision: string][] = [
      [null, '74234e98afe7498fb5daf1f36ac2d78a'],
      [{}, '44136fa355b3678a1146ad16f7e8649e'],
      [
        { defaults, profiles, more: [1.5, 1e21, -0, '\ud800', '\u2028', undefined] },
        'fe8478b73b2dd3f50d870b48499a13a5',
      ],
      [{ profiles: { 10: {}, 9: {}, a: { '\u{1f600}': 1, '\uffff': 2 } } }, 'eae75e530f97383de7bf8860f7120b8e'],
    ];
    for (const [value, revision] of golden) assert.equal(syncRevision(value), revision);
  });

  test("doesn't depend on the order of keys, or on JSON conversion", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.equal(syncRevision(reversed(value)), syncRevision(value));
        assert.equal(syncRevision(JSON.parse(JSON.stringify(value))), syncRevision(value));
      }),
    );
  });

  test('differs for a value that only looks alike', () => {
    const alike: [unknown, unknown][] = [
      [{ a: '1' }, { a: 1 }],
      [['a', 'b'], ['a,b']],
      [{ a: { b: 1 } }, { a: {}, b: 1 }],
      [{ 'a":1,"b': 1 }, { a: 1, b: 1 }],
      [['\ud800'], ['\ud801']],
      [[], {}],
      [[[]], []],
      [null, {}],
      [JSON.parse('{"__proto__":{"a":1}}'), {}],
    ];
    for (const [one, other] of alike) {
      assert.notEqual(syncRevision(one), syncRevision(other), JSON.stringify([one, other]));
      const wrap = (value: unknown) => ({ profiles: { default: value } });
      assert.notEqual(syncRevision(wrap(one)), syncRevision(wrap(other)), JSON.stringify([one, other]));
    }
  });

  test('ignores paused and dryRun of the defaults and the profiles, but nothing else of these names', () => {
    const { defaults, profiles } = sync;
    for (const switches of [{ paused: true }, { paused: false }, { dryRun: true }, { paused: true, dryRun: false }]) {
      assert.equal(syncRevision({ defaults: { ...defaults, ...switches }, profiles }), syncRevision(sync));
      const profile = { ...profiles.default, ...switches };
      assert.equal(syncRevision({ defaults, profiles: { default: profile } }), syncRevision(sync));
    }
    const others = [
      { ...sync, paused: true },
      { defaults: { ...defaults, vars: { site: 'x', paused: 'true' } }, profiles },
      { defaults, profiles: { ...profiles, paused: profiles.default } },
      { defaults, profiles: { default: { mappings: [{ ...mapping, dryRun: true }] } } },
    ];
    const revisions = [sync, ...others].map(syncRevision);
    assert.equal(new Set(revisions).size, revisions.length);
  });

  test('is the same if a mapping omits a field or has its default', () => {
    const revisionOf = (fields: object) =>
      syncRevision({ profiles: { default: { mappings: [{ source: 'a', destination: 'b', ...fields }] } } });
    const same = [{}, { required: true }, { template: false }, { publish: 'files' }, mapping];
    assert.deepEqual(new Set(same.map(revisionOf)), new Set([revisionOf({})]));
    const others = [{}, { required: false }, { template: true }, { publish: 'atomic' }, { mode: '0644' }];
    assert.equal(new Set(others.map(revisionOf)).size, others.length);
    for (const mappings of [null, 'a', [null], ['a']])
      assert.match(syncRevision({ profiles: { default: { mappings } } }), /^[0-9a-f]{32}$/);
  });

  test('ignores undefined fields, as JSON does', () => {
    assert.equal(syncRevision({ ...sync, more: undefined }), syncRevision(sync));
    assert.match(syncRevision(undefined), /^[0-9a-f]{32}$/);
  });
});
