import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { NamedSecrets, SecretReader } from '../../../../controller/agent-access/named-secrets.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { clientOfServer } from '../../../support/client-of-server.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';
import { until } from '../../../support/until.ts';

const circumstances = { isStarting: false, log: pino({ level: 'silent' }) };

/** A resource that names this number of Secrets. */
function resourceOf(namespace: string, count: number, generation = 1): ObservedGatewaySync {
  const headersFrom = Array.from({ length: count }, (_, index) => ({
    name: `h${index}`,
    secretRef: { name: `s${index}`, key: 'k' },
  }));
  const metadata = { namespace, name: 'app', uid: namespace, generation };
  const spec = { gateway: { reload: { requests: [{ path: '/', headersFrom }] } } };
  return projectGatewaySync(gatewaySyncOf({ metadata, spec }), undefined, 0);
}

/** Secrets whose metadata doesn't identify the writer; `reads` are the requested paths. */
async function arrange(t: TestContext, options: { isThere?: boolean; gate?: Promise<void> } = {}) {
  const { isThere = true, gate } = options;
  const reads: string[] = [];
  const news: string[] = [];
  const client = await clientOfServer(t, async (request, response) => {
    reads.push(request.url ?? '');
    await gate;
    response.statusCode = isThere ? 200 : 404;
    response.end(JSON.stringify({ kind: 'Secret', metadata: { managedFields: [{}] }, data: { k: 'eA==' } }));
  });
  const reader = new SecretReader(client);
  const gone = new Set<string>();
  const resources = new Map<string, NamedSecrets>();
  /** Checks the Secrets of a resource, which exists until its key is in `gone`. */
  const check = (key: string, gatewaySync: ObservedGatewaySync) => {
    const cached = () => (gone.has(key) ? undefined : gatewaySync);
    const secrets = resources.get(key) ?? new NamedSecrets({ reader, cached, enqueue: () => news.push(key) });
    resources.set(key, secrets);
    return secrets.check({ gatewaySync, ...circumstances });
  };
  return { reads, news, check, gone };
}

suite('the check of Secrets that a resource names', () => {
  test('runs in the background, and notifies when it knows more', async (t) => {
    const { check, news } = await arrange(t, { isThere: false });
    const look = () => check('ns/app', resourceOf('ns', 1));
    const first = look();
    assert.ok(first.kind === 'checking' && first.waitMs > 0 && first.waitMs <= 1_000, JSON.stringify(first));
    await until(() => news.length === 1, { describe: 'the news' });
    const { kind, ...rest } = look();
    assert.equal(kind, 'known');
    assert.match(JSON.stringify(rest), /SecretNotFound.*Secret ns\/s0,/);
    assert.deepEqual(news, ['ns/app']);
  });

  test('keeps them missing until it knows better, even if an earlier leader found that', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { check, reads } = await arrange(t, { gate: promise });
    t.after(() => resolve());
    const conditions = [
      {
        type: 'AgentAccess',
        status: 'False' as const,
        reason: 'SecretNotFound',
        message: 's0 is missing',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ];
    const resource = { ...resourceOf('ns', 1), status: { conditions } };
    const look = () => check('ns/app', resource);
    const first = look();
    assert.equal(first.kind, 'checking');
    await until(() => reads.length === 1, { describe: 'the read' });
    const now = performance.now();
    t.mock.method(performance, 'now', () => now + 1_001);
    const problem = { reason: 'SecretNotFound', message: 's0 is missing' };
    assert.deepEqual(look(), { kind: 'known', access: { problem } });
  });

  test('in a namespace with many delays no other namespace', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { check, news, reads } = await arrange(t, { gate: promise });
    for (let index = 0; index < 60; index += 1) check(`many/${index}`, resourceOf('many', 16));
    check('other/app', resourceOf('other', 1));
    resolve();
    await until(() => news.includes('other/app'), { describe: 'those of the other' });
    assert.ok(reads.length < 60, `${reads.length} reads before`);
  });

  test('stops when the resource is deleted', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { check, gone, news, reads } = await arrange(t, { gate: promise });
    check('gone/app', resourceOf('gone', 16));
    await until(() => reads.length > 0, { describe: 'the first read' });
    gone.add('gone/app');
    check('other/app', resourceOf('other', 8));
    resolve();
    await until(() => news.length > 0, { describe: 'the others' });
    assert.deepEqual(news, ['other/app']);
    assert.ok(reads.filter((path) => path.includes('/gone/')).length <= 2, reads.join());
  });

  test('runs once at a time for a resource, whatever is edited in the meantime', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { check, news, reads } = await arrange(t, { gate: promise });
    for (let generation = 1; generation <= 20; generation += 1) check('ns/app', resourceOf('ns', 1, generation));
    await until(() => reads.length > 0, { describe: 'the first read' });
    assert.equal(reads.length, 1);
    resolve();
    await until(() => news.length === 1, { describe: 'the first look' });
    assert.equal(check('ns/app', resourceOf('ns', 1, 20)).kind, 'checking');
    await until(() => news.length === 2, { describe: 'the look at what was edited' });
    assert.equal(check('ns/app', resourceOf('ns', 1, 20)).kind, 'known');
  });
});
