import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isEdited, withSuffix } from '../../../../../shared/domain/kubernetes/request-id.ts';

const made = { ref: 'v1', at: '2026-01-01T00:00:00.000Z', by: 'github', repo: 'org/repo' };

suite('the suffix of a request ID', () => {
  test('fits the request that it was made for', () => {
    const id = withSuffix('a', made);
    assert.match(id, /^a~[0-9a-f]{12}$/);
    assert.equal(isEdited({ ...made, id }), false);
    assert.equal(isEdited({ ref: 'v1', id: withSuffix('b', { ref: 'v1' }) }), false);
  });

  test("doesn't fit if any annotation was edited or removed", () => {
    const id = withSuffix('a', made);
    for (const name of ['ref', 'at', 'by', 'repo'] as const) assert.ok(isEdited({ ...made, id, [name]: 'x' }), name);
    for (const name of ['at', 'by', 'repo'] as const) {
      const { [name]: removed, ...others } = made;
      assert.ok(isEdited({ ...others, id }), `no ${name}`);
    }
    const moved = { ref: made.ref, at: made.by, by: made.at, repo: made.repo };
    assert.ok(isEdited({ ...moved, id }), 'the same texts elsewhere');
  });

  test('is absent in the IDs of other clients, which never show an edit', () => {
    const foreign = [
      undefined,
      '',
      'a',
      'a~',
      'a~0123456789a',
      'a~0123456789ABC',
      'a~0123456789abc',
      'a~0123456789ab~',
    ];
    for (const id of foreign) assert.equal(isEdited({ ...made, ...(id !== undefined && { id }) }), false, String(id));
  });
});
