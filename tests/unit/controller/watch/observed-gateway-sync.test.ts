import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readIntents } from '../../../../controller/intent/intents.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { REQUEST_ANNOTATIONS, ROLLOUT_ANNOTATIONS, setByAnnotation } from '../../../../shared/api/names.ts';
import type { ObjectMeta } from '../../../../shared/api/object-meta.ts';
import { withSuffix } from '../../../../shared/domain/kubernetes/request-id.ts';
import { omit } from '../../../../shared/domain/text/objects.ts';
import { gatewaySpecOf, gatewaySyncOf, type SpecInput } from '../../../support/objects.ts';
import { decideFor } from '../support/requested-resource.ts';

const timeAt = (second: number) => `2026-01-01T00:00:${`${second}`.padStart(2, '0')}Z`;
const at = (second: number) => Date.parse(timeAt(second));

/** An entry of managedFields. */
const entry = (manager: string, second: number, fieldsV1: object) => ({
  manager,
  operation: 'Update',
  time: timeAt(second),
  fieldsV1,
});
/** The entry of a client that wrote these annotations. */
const wrote = (manager: string, second: number, ...names: string[]) => {
  const annotations = Object.fromEntries(names.map((name) => [`f:sync.io/${name}`, {}]));
  return entry(manager, second, { 'f:metadata': { 'f:annotations': annotations } });
};

suite('the time at which the watch first delivered', () => {
  const request = { ref: 'v1', at: timeAt(0), by: 'github', repo: '-' };
  const annotations = {
    'sync.io/requested-ref': 'v1',
    'sync.io/requested-at': timeAt(0),
    'sync.io/requested-by': 'github',
    'sync.io/requested-repo': '-',
    'sync.io/request-id': withSuffix('a', request),
    'sync.io/pushed-ref': 'refs/heads/main',
    'sync.io/pushed-at': timeAt(0),
  };
  const git = gatewaySpecOf().git;
  const observe = (
    change: { annotations?: object; spec?: object; uid?: string; generation?: number },
    previous: ObservedGatewaySync | undefined,
    now: number,
  ) => {
    const { uid = 'uid', generation = 1, spec = {} } = change;
    const metadata = { uid, generation, annotations: { ...annotations, ...change.annotations } };
    return projectGatewaySync(gatewaySyncOf({ metadata, spec }), previous, at(now));
  };
  const timesOf = ({ request: asked, push, editSeenAt }: ObservedGatewaySync) =>
    [asked?.seenAt, push?.seenAt, editSeenAt].map((time) => time && (time - at(0)) / 1000);
  const first = observe({}, undefined, 3);

  test('a resource counts for all that it contains, except for the ref that it was created with', () => {
    assert.deepEqual(timesOf(first), [3, 3, undefined]);
    assert.deepEqual(timesOf(observe({ generation: 2 }, undefined, 3)), [3, 3, 3]);
  });

  test('a request, a push, or an edit of the ref stays until its next change', () => {
    const asked = observe({ annotations: { 'sync.io/requested-ref': 'v2' } }, first, 4);
    assert.deepEqual(timesOf(asked), [4, 3, undefined]);
    const pushed = observe({ annotations: { 'sync.io/pushed-at': timeAt(5) } }, first, 5);
    assert.deepEqual(timesOf(pushed), [3, 5, undefined]);
    const edit = { spec: { git: { ...git, ref: 'next' } }, generation: 2 };
    const edited = observe(edit, first, 6);
    assert.deepEqual(timesOf(edited), [3, 3, 6]);
    assert.deepEqual(timesOf(observe({ ...edit, generation: 3 }, edited, 7)), [3, 3, 6], 'another field');
  });

  test('another resource with the same name is new', () => {
    assert.deepEqual(timesOf(observe({ uid: 'other' }, first, 9)), [9, 9, undefined]);
  });

  const edits: [what: string, spec: SpecInput['git'], isEdit: boolean][] = [
    ['a range is an edit', { repo: git.repo, semver: '~1' }, true],
    ['another repository is an edit', { ...git, repo: 'https://git.test/other.git' }, true],
    ['the same repository under another URL is none', { ...git, repo: 'git@git.test:app' }, false],
    ['another timeout is none', { ...git, timeout: '1m' }, false],
  ];
  for (const [what, spec, isEdit] of edits)
    test(what, () => {
      const { editSeenAt } = observe({ spec: { git: spec }, generation: 2 }, first, 8);
      assert.equal(editSeenAt, isEdit ? at(8) : undefined);
    });

  test('a request of which an annotation was edited: the others belong to an earlier one', () => {
    const byHand = observe(
      { annotations: { 'sync.io/requested-ref': 'v2', 'sync.io/requested-repo': 'org/repo' } },
      first,
      4,
    );
    const { edited, by, id, repo } = byHand.request ?? {};
    assert.deepEqual([edited, by, id, repo], [true, 'manual', annotations['sync.io/request-id'], undefined]);
    assert.deepEqual([first.request?.edited, first.request?.by], [false, 'github']);
  });
});

suite('a request and a push that are complete', () => {
  const emoji = '\u{1F600}';
  const odd: [what: string, ref: string, others: string][] = [
    ['empty annotations', 'v1', ''],
    ['texts that are cut inside a character', `x${emoji.repeat(300)}`, `x${emoji.repeat(100)}`],
    ['an empty ref', '', '2026-01-01T00:00:00Z'],
  ];
  for (const [what, ref, others] of odd) {
    test(`are recognized in the form in which the API server stored them: ${what}`, () => {
      const annotations = Object.fromEntries(
        ['requested-ref', 'requested-at', 'requested-by', 'request-id', 'pushed-ref', 'pushed-at'].map((name) => [
          `sync.io/${name}`,
          name.endsWith('-ref') ? ref : others,
        ]),
      );
      const observe = (status: GatewaySyncStatus) =>
        projectGatewaySync(gatewaySyncOf({ metadata: { annotations }, status }), undefined, at(0));
      const answer = { kind: 'refs' as const, refs: new Map([['refs/heads/main', 'a'.repeat(40)]]) };
      const { status } = decideFor(observe({}), { query: answer });
      assert.ok(status.lastRequest && status.lastPush);
      // Go replaces lone surrogates with U+FFFD.
      const stored = JSON.parse(JSON.stringify(status), (_, value) =>
        typeof value === 'string' ? value.toWellFormed() : value,
      );
      const { request, push } = readIntents(observe(stored));
      assert.deepEqual([request, push], [undefined, undefined]);
    });
  }
});

suite('the cached part of a resource', () => {
  const mapping = { source: 'a', destination: 'b', required: true, template: false };
  const stored = (generation: number, sync?: SpecInput['sync']) =>
    gatewaySyncOf({ metadata: { generation }, ...(sync && { spec: { sync } }) });

  test('contains the settings and problems of its profiles', () => {
    const profiles = {
      default: { mappings: [mapping] },
      quiet: { mappings: [mapping], dryRun: false, paused: true },
      broken: { mappings: [{ ...mapping, source: '{{ .Nothing }}' }] },
    };
    const { sync } = projectGatewaySync(stored(1, { profiles, defaults: { dryRun: true } }), undefined, 0).spec;
    const previewed = { paused: false, dryRun: true, maxFailures: 0 };
    const paused = { paused: true, dryRun: false, maxFailures: 0 };
    assert.deepEqual(sync.profiles, { default: previewed, quiet: paused, broken: previewed });
    assert.equal(sync.problems?.length, 1);
    assert.match(sync.problems?.[0] ?? '', /^profiles\.broken\.mappings\[0\]\.source: /);
  });

  test('is computed once per generation', () => {
    const first = projectGatewaySync(stored(1), undefined, 0);
    assert.equal(projectGatewaySync(stored(1), first, 0).spec, first.spec);
    assert.notEqual(projectGatewaySync(stored(2), first, 0).spec, first.spec);
    assert.notEqual(projectGatewaySync(stored(1), { ...first, uid: 'another' }, 0).spec, first.spec);
  });
});

suite('the cached fields of a resource', () => {
  const secretRef = { name: 'secret', key: 'key' };
  const named = { namespace: 'ns', name: 'app', uid: 'uid', resourceVersion: '7', generation: 3 };
  const metadata = { ...named, creationTimestamp: '2026-01-01T00:00:00Z' };
  const project = (spec: Partial<SpecInput>, more: Partial<ObjectMeta> = {}, status?: GatewaySyncStatus) =>
    projectGatewaySync(gatewaySyncOf({ metadata: { ...metadata, ...more }, spec, status }), undefined, at(9));
  const polling = { enabled: true, interval: '60s' };
  const defaults = { polling, webhook: { allowedRefs: [], repositories: [] }, paused: false };

  test('are complete for a small one', () => {
    const { gateway, git, ...rest } = omit(project({}).spec, 'sync');
    const { port, tls } = gatewaySpecOf().gateway;
    assert.deepEqual(rest, defaults);
    assert.deepEqual(git, { repo: 'https://git.test/app.git', ref: 'main' });
    assert.deepEqual(gateway, { port, tls });
    const fields = omit(project({}, { deletionTimestamp: '2026-01-02T00:00:00Z' }, { lastSyncRef: 'x' }), 'spec');
    assert.deepEqual(fields, {
      ...named,
      createdAt: at(0),
      editSeenAt: at(9),
      deleting: true,
      status: { lastSyncRef: 'x' },
    });
    const { deleting, status, generation } = project({}, { generation: 0 });
    assert.deepEqual({ deleting, status, generation }, { deleting: false, status: {}, generation: 0 });
  });

  test('are complete for a large one', () => {
    const git = {
      repo: 'https://git.test/app.git',
      ref: 'main',
      auth: { token: { secretRef } },
      caSecretRef: secretRef,
      verify: { mode: 'head' as const, keysSecretRef: { name: 'keys' } },
      commitStatus: { context: 'c' },
    };
    const api = { secretName: 'api', secretKey: 'key' };
    const otherRef = { name: 'other', key: 'token' };
    const requests = [{ path: '/a', headersFrom: [{ name: 'X', secretRef }] }, { path: '/b' }];
    const spec = {
      git,
      agent: { image: { tag: '1' } },
      history: 5,
      rollout: { waves: [{ name: 'a' }] },
      gateway: {
        api,
        reload: { requests, signal: { name: 'SIGHUP' as const, process: 'nginx' } },
        verify: { for: '1m', requests: [{ path: '/ok', headersFrom: [{ name: 'Y', secretRef: otherRef }] }] },
      },
    };
    const given = gatewaySpecOf(spec);
    const { revision, ...kept } = omit(project(spec).spec, 'sync');
    assert.match(revision ?? '', /^[0-9a-f]{32}$/);
    const { auth, caSecretRef, verify, commitStatus } = given.git;
    assert.deepEqual(kept, {
      ...defaults,
      agent: given.agent,
      history: 5,
      rollout: given.rollout,
      git: { repo: git.repo, ref: 'main', auth, caSecretRef, verify, commitStatus },
      gateway: {
        port: given.gateway.port,
        tls: given.gateway.tls,
        api: given.gateway.api,
        verifies: true,
        headers: [secretRef, otherRef],
      },
    });
    const { rollout, history, revision: none } = project({ history: 5 }).spec;
    assert.deepEqual([rollout, history, none], [undefined, undefined, undefined], 'of use for rollouts alone');
  });

  const order = `${'c'.repeat(64)}/${'d'.repeat(32)}`;
  const orders = { 'sync.io/rollback': order, 'sync.io/retry-rollout': '' };

  test('include the commands of users and their authors, if there are rollouts', () => {
    const annotations = { ...orders, [setByAnnotation('sync.io/rollback')]: 'anna' };
    const managedFields = [wrote('kubectl-annotate', 9, 'rollback')];
    const observed = project({ rollout: {} }, { annotations, managedFields });
    assert.deepEqual(observed.orders, { rollback: order });
    assert.deepEqual(observed.orderedBy, { rollback: { user: 'anna', manager: 'kubectl-annotate' } });
    assert.equal(project({}, { annotations }).orders, undefined);
    assert.equal(project({ rollout: {} }).orders, undefined);
  });

  const annotations = {
    'sync.io/requested-ref': 'v1',
    'sync.io/requested-at': 'a'.repeat(65),
    'sync.io/requested-by': 'b'.repeat(65),
    'sync.io/request-id': 'i'.repeat(129),
    'sync.io/pushed-ref': 'p'.repeat(600),
    'sync.io/pushed-at': 'a'.repeat(65),
  };

  test('include a request and a push, shortened to the limits of the status', () => {
    const { request, push } = project({}, { annotations });
    const lengths = (texts: object = {}) =>
      Object.entries(texts).map(([name, text]) => [name, typeof text === 'string' ? text.length : text]);
    const seenAt = at(9);
    const expected = { ref: 2, at: 64, by: 64, id: 128, applied: false, edited: false, seenAt };
    assert.deepEqual(lengths(request), Object.entries(expected));
    assert.deepEqual(lengths(push), Object.entries({ ref: 512, at: 64, applied: false, edited: false, seenAt }));
  });

  test('stay distinct if only the ends of long annotations differ, and equal no shorter one', () => {
    const names = [...Object.values(REQUEST_ANNOTATIONS), ...Object.values(ROLLOUT_ANNOTATIONS)];
    const observe = (text: string) => {
      const sameText = Object.fromEntries(names.map((name) => [name, text]));
      const observed = project({ rollout: {} }, { annotations: sameText });
      return [observed.request, observed.push, observed.orders].flatMap((texts) => Object.entries(texts ?? {}));
    };
    const long = observe(`${'x'.repeat(600)}a`);
    for (const other of [observe(`${'x'.repeat(600)}b`), ...[64, 128, 300, 512].map((n) => observe('x'.repeat(n)))])
      for (const [index, [name, text]] of long.entries())
        if (typeof text === 'string') assert.notDeepEqual(other[index], [name, text]);
  });

  test('include the repository of a delivery, unless it names none', () => {
    const repositoriesOf = (repo: string) => {
      const about = { ...annotations, 'sync.io/requested-repo': repo, 'sync.io/pushed-repo': repo };
      const { request, push } = project({}, { annotations: about });
      return [request?.repo, push?.repo];
    };
    assert.deepEqual(repositoriesOf('org/repo'), ['org/repo', 'org/repo']);
    assert.deepEqual(repositoriesOf('-'), [undefined, undefined]);
    for (const repo of repositoriesOf('x'.repeat(999))) assert.equal(repo?.length, 300);
  });

  test('include whether the ref is in a manifest', () => {
    const isApplied = (operation: string) => {
      const managedFields = [{ ...wrote('flux', 9, 'requested-ref'), operation }];
      return project({}, { annotations, managedFields }).request?.applied;
    };
    assert.deepEqual(['Apply', 'Update'].map(isApplied), [true, false]);
  });
});
