import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { type Answer, INSPECTION, readQuestion } from '../../../shared/api/inspection.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import { openAnswer, sealAnswer } from '../../../shared/io/inspection-answer.ts';
import { drawKeys, seal } from '../../../shared/io/sealed-box.ts';
import { assertLinear } from '../../support/assert-linear.ts';
import { slow } from '../../support/depth.ts';
import { fc } from '../../support/property.ts';

const keys = await drawKeys();

const question = {
  id: '01234567-89ab-cdef-0123-456789abcdef',
  kind: 'diff',
  pods: ['gateway-0'],
  ref: 'main',
  key: keys.publicKey,
  expires: '2026-01-01T00:00:00.000Z',
};

const part = { ...omit(question, 'ref'), kind: 'content', path: 'config/a', offset: 0 };

suite('the parser of a query', () => {
  test('reads it as it was written', () => {
    assert.deepEqual(readQuestion(JSON.stringify(question)), question);
    assert.ok(readQuestion(JSON.stringify({ ...question, kind: 'drift', ref: undefined })));
    assert.deepEqual(readQuestion(JSON.stringify(part)), part);
  });

  test('ignores invalid ones', () => {
    const odd: [string, object][] = [
      ['no id', { id: undefined }],
      ['an id that is none', { id: '../../x' }],
      ['another kind', { kind: 'sync' }],
      ['no pods', { pods: [] }],
      ['many pods', { pods: Array.from({ length: INSPECTION.pods + 1 }, (_, index) => `gateway-${index}`) }],
      ['a pod that is none', { pods: ['a/b'] }],
      ['a diff of nothing', { ref: undefined }],
      ['an option for a ref', { ref: '--upload-pack=x' }],
      ['a refspec for a ref', { ref: 'a:refs/sync/current' }],
      ['a commit in short', { commit: 'abc1234' }],
      ['a key that is no text', { key: 1 }],
    ];
    for (const [what, fields] of odd) {
      assert.equal(readQuestion(JSON.stringify({ ...question, ...fields })), undefined, what);
    }
    const oddParts: [string, object][] = [
      ['content of no file', { path: undefined }],
      ['a file outside', { path: '../a' }],
      ['an absolute path', { path: '/a' }],
      ['the directory of git', { path: 'config/.GIT/config' }],
      ['no offset', { offset: undefined }],
      ['an offset that is none', { offset: -1 }],
      ['an offset beyond the limit', { offset: INSPECTION.readBytes + 1 }],
      ['content of two pods', { pods: ['gateway-0', 'gateway-1'] }],
    ];
    for (const [what, fields] of oddParts)
      assert.equal(readQuestion(JSON.stringify({ ...part, ...fields })), undefined, what);
    for (const text of [undefined, '', '{', 'null', '[]', '"x"', `${' '.repeat(9_000)}${JSON.stringify(question)}`]) {
      assert.equal(readQuestion(text), undefined);
    }
  });

  test('never throws, and takes linear time', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        assert.equal(readQuestion(text), undefined);
      }),
    );
    assertLinear(2_000, (size) => JSON.stringify({ ...question, pods: ['-'.repeat(size)] }), readQuestion);
  });
});

suite('the answer to a query', () => {
  const about = 'a question';
  const to = keys.publicKey;
  const changesOf = (count: number, text: () => string): Answer['changes'] =>
    Array.from({ length: count }, (_, index) => ({
      path: `config/${index}`,
      source: `config/${index}`,
      kind: 'modify' as const,
      reason: 'Drifted',
      before: { executable: false, text: text() },
      after: { executable: false, text: text() },
    }));

  test('is read as it was written', async () => {
    const answer: Answer = { ref: 'main', commit: 'a'.repeat(40), changes: changesOf(3, () => 'é\n\u0000'), more: 2 };
    assert.deepEqual(await openAnswer(await sealAnswer(answer, { to, about }), { keys, about }), answer);
  });

  test('loses the content of the last files if it is too large, and names them', async () => {
    const changes = changesOf(100, () => randomBytes(4_000).toString('base64'));
    const sealed = await sealAnswer({ changes, more: 0 }, { to, about });
    assert.ok(sealed.length <= INSPECTION.sealed);
    const answer = await openAnswer(sealed, { keys, about });
    assert.equal(answer?.changes.length, 100);
    const first = answer?.changes[0];
    const last = answer?.changes.at(-1);
    assert.deepEqual(first, changes[0]);
    assert.deepEqual([last?.leftOut, last?.after], ['limit', { executable: false }]);
  });

  test('has room for a part of a file that cannot be compressed', async () => {
    const bytes = randomBytes(INSPECTION.chunkBytes);
    const content = { data: bytes.toString('base64'), size: INSPECTION.readBytes, version: '9'.repeat(256) };
    const sealed = await sealAnswer({ changes: [], more: 0, content }, { to, about });
    assert.ok(sealed.length <= INSPECTION.sealed, `${sealed.length}`);
    assert.deepEqual((await openAnswer(sealed, { keys, about }))?.content, content);
  });

  test("counts the names that don't fit", async () => {
    const changes = Array.from({ length: INSPECTION.changes }, () => ({
      path: randomBytes(500).toString('hex'),
      kind: 'add' as const,
      reason: 'New',
    }));
    const answer = await openAnswer(await sealAnswer({ changes, more: 5 }, { to, about }), { keys, about });
    assert.ok(answer && answer.changes.length < changes.length);
    assert.equal(answer.changes.length + answer.more, changes.length + 5);
  });

  test('is ignored if it is malicious', slow, async () => {
    const pack = async (bytes: Buffer | string) => await seal(Buffer.from(bytes), { to, about });
    const bomb = await pack(Buffer.alloc(64 * 1024 * 1024, ' '));
    assert.ok(bomb.length < INSPECTION.sealed);
    const long = changesOf(INSPECTION.files, () => 'x'.repeat(INSPECTION.bytes / INSPECTION.files));
    const odd = [
      bomb,
      await pack(JSON.stringify({ changes: long, more: 0 })),
      await pack('{}'),
      await pack('no JSON'),
      await pack(JSON.stringify({ changes: [{ path: 'a'.repeat(5_000), kind: 'add', reason: '' }], more: 0 })),
      await pack(`{"changes":${'['.repeat(100_000)}`),
      '',
    ];
    for (const sealed of odd) assert.equal(await openAnswer(sealed, { keys, about }), undefined);
  });
});
