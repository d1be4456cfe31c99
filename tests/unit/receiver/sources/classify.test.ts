import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { classify } from '../../../../receiver/sources/classify.ts';
import { parseJsonObject } from '../../../../receiver/sources/json-object.ts';
import { isValidRefName } from '../../../../shared/domain/git/check-ref-name.ts';
import { fc, runs } from '../../../support/property.ts';

const release = { action: 'published', release: { tag_name: 'from-release' } };
const argocd = { app: { metadata: { annotations: { 'git.ref': 'from-argocd' } } } };
const kargo = { freight: { commits: [{ tag: 'from-kargo' }] } };
const generic = { ref: 'from-generic' };

suite('a body that fits several formats', () => {
  test('is read as release, then Argo CD, then Kargo, then generic', () => {
    const refOf = (body: object) => {
      const delivery = classify({}, body as Record<string, unknown>);
      return 'ref' in delivery ? delivery.ref : delivery.kind;
    };
    assert.equal(refOf({ ...generic, ...kargo, ...argocd, ...release }), 'from-release');
    assert.equal(refOf({ ...generic, ...kargo, ...argocd }), 'from-argocd');
    assert.equal(refOf({ ...generic, ...kargo }), 'from-kargo');
    assert.equal(refOf(generic), 'from-generic');
  });

  test('is read only by its event header, if it has one', () => {
    const body = { ...release, ...argocd, ...kargo, ref: 'refs/heads/main' };
    assert.deepEqual(classify({ 'x-github-event': 'push' }, body), {
      kind: 'push',
      ref: 'refs/heads/main',
      source: 'github',
    });
  });

  test("is read in Gitea's format if it has both GitHub's and Gitea's headers", () => {
    for (const name of ['x-gitea-event', 'x-forgejo-event', 'x-gogs-event']) {
      const headers = { 'x-github-event': 'push', [name]: 'push' };
      assert.equal(classify(headers, { ref: 'refs/heads/main' }).source, 'gitea', name);
    }
  });

  test("is ignored if its release isn't published, whatever else it contains", () => {
    const delivery = classify({}, { ...release, action: 'deleted', ...generic });
    assert.deepEqual(delivery, { kind: 'nothing', reason: 'NotPublished', source: 'github' });
  });
});

suite('a hostile body', () => {
  test('without any known field has an unknown payload, unless a header names the event', () => {
    for (const body of [
      ...[{}, { message: 'hello' }, { ref: null, release: null, app: null, freight: null }, { commits: null }],
      ...[{ app: { metadata: null } }, { app: { metadata: 'x' } }, { freight: { commits: {} } }, { release: {} }],
    ]) {
      const { kind, source, ...rest } = classify({}, body);
      assert.deepEqual({ kind, source }, { kind: 'invalid', source: 'generic' }, JSON.stringify(body));
      assert.equal('reason' in rest && rest.reason, 'UnknownPayload');
      assert.ok('error' in rest);
      for (const header of ['x-github-event', 'x-gitlab-event', 'x-gitea-event', 'x-event-key'])
        assert.equal(classify({ [header]: 'whatever' }, body).kind, 'nothing', header);
    }
  });

  test("in a sender's shape, but without a ref, is ignored", () => {
    const ignored = (source: string) => ({ kind: 'nothing', reason: 'NoRef', source });
    for (const annotations of [undefined, null, {}, { other: 'x' }])
      assert.deepEqual(classify({}, { app: { metadata: { name: 'site', annotations } } }), ignored('argocd'));
    for (const body of [{ freight: { commits: [] } }, { freight: { commits: [{ id: 'a' }] } }, { commits: [{}] }])
      assert.deepEqual(classify({}, body), ignored('kargo'));
  });

  test("can't supply fields through its prototype", () => {
    for (const text of [
      '{"__proto__": {"ref": "v1"}}',
      '{"constructor": {"prototype": {"ref": "v1"}}}',
      '{"release": {"__proto__": {"tag_name": "v1"}}}',
      '{"freight": {"commits": [{"__proto__": {"tag": "v1"}}]}}',
    ]) {
      const body = parseJsonObject(Buffer.from(text));
      assert.ok(body, text);
      assert.ok(['nothing', 'invalid'].includes(classify({}, body).kind), text);
      assert.equal(({} as { ref?: unknown }).ref, undefined);
    }
  });

  test('with any JSON value in any field gets a result, and never an invalid ref', () => {
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('v1', 'refs/heads/main', '-x', '\ud800', 'published'));
    const event = fc.constantFrom(
      ...[undefined, '', 'push', 'release', 'ping', 'create', 'package', '__proto__', 'repo:push', 'repo:refs_changed'],
    );
    const header = fc.constantFrom('x-github-event', 'x-gitea-event', 'x-gitlab-event', 'x-event-key');
    const change = fc.oneof(value, fc.record({ new: value, old: value, type: value, ref: value, refId: value }));
    const body = fc.record(
      {
        ref: value,
        ref_type: fc.oneof(value, fc.constantFrom('branch', 'tag')),
        object_kind: fc.oneof(value, fc.constantFrom('push', 'tag_push', 'release')),
        tag: value,
        changes: fc.oneof(value, fc.array(change)),
        push: fc.oneof(value, fc.record({ changes: fc.oneof(value, fc.array(change)) })),
        package: fc.oneof(value, fc.record({ package_version: value })),
        action: value,
        deleted: value,
        after: value,
        release: fc.oneof(value, fc.record({ tag_name: value, draft: value }, { requiredKeys: [] })),
        app: fc.oneof(value, fc.record({ metadata: fc.oneof(value, fc.record({ annotations: value })) })),
        freight: fc.oneof(
          value,
          fc.record({ commits: fc.oneof(value, fc.array(fc.oneof(value, fc.record({ tag: value })))) }),
        ),
        commits: fc.oneof(value, fc.array(fc.record({ tag: value }))),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(header, event, body, (name, content, fields) => {
        const delivery = classify({ [name]: content }, fields);
        if (delivery.kind === 'request') assert.ok(isValidRefName(delivery.ref));
        if (delivery.kind === 'push') assert.ok(delivery.ref.startsWith('refs/heads/') && isValidRefName(delivery.ref));
      }),
      { numRuns: runs(2000) },
    );
  });
});
