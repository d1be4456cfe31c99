import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Annotate } from '../../../../receiver/annotations/annotate.ts';
import { AnnotationQueue } from '../../../../receiver/annotations/annotation-queue.ts';
import type { Annotations } from '../../../../receiver/annotations/annotations-of.ts';
import type { Outcome } from '../../../../receiver/outcome.ts';
import type { Delivery, Sender } from '../../../../receiver/sources/delivery.ts';
import type { ResourceName } from '../../../../shared/domain/kubernetes/object-name.ts';
import { requestIn } from '../../../../shared/domain/kubernetes/recorded-request.ts';
import { isEdited } from '../../../../shared/domain/kubernetes/request-id.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { ServerClock } from '../../../../shared/io/kubernetes/server-clock.ts';
import { createLogger } from '../../../../shared/log.ts';
import { codedError } from '../../../support/coded-error.ts';
import { slow } from '../../../support/depth.ts';

const log = createLogger('test', { level: 'silent' });
const demo: ResourceName = { namespace: 'team', name: 'demo' };

/** A cluster as the queue sees it: what is stored, how often it was written, and how many writes were under way at once. */
class World {
  readonly stored = new Map<string, Record<string, string>>();
  writes = 0;
  inProgress = 0;
  maxInProgress = 0;
  /** Errors of the next writes. */
  readonly errors: unknown[] = [];

  readonly annotate: Annotate = async ({ namespace, name }, annotations) => {
    this.writes++;
    this.maxInProgress = Math.max(this.maxInProgress, ++this.inProgress);
    await sleep(10);
    this.inProgress--;
    const error = this.errors.shift();
    if (error !== undefined) throw error;
    const key = `${namespace}/${name}`;
    this.stored.set(key, { ...this.stored.get(key), ...annotations });
  };
}

/** A cluster, and a queue for it. */
function arrange(options: Partial<ConstructorParameters<typeof AnnotationQueue>[0]> = {}) {
  const world = new World();
  return { world, queue: new AnnotationQueue({ annotate: world.annotate, log, ...options }) };
}

const request = (id: number): Delivery & Sender & { kind: 'request' } => ({
  kind: 'request',
  ref: `v${id}`,
  source: 'generic',
  requestId: String(id),
});
const push = (branch: string): Delivery & Sender => ({
  kind: 'push',
  ref: `refs/heads/${branch}`,
  source: 'github',
  requestId: branch,
});
const requestAndPush = (id: number): Delivery & Sender => ({ ...request(id), pushedRef: 'refs/heads/main' });

/** Whether a delivery was superseded; undefined if it wasn't stored. */
const isSuperseded = (result?: Outcome) => (result?.kind === 'stored' ? result.superseded : undefined);

suite('deliveries for one resource', () => {
  test('are combined into two successive writes if they arrive in a burst, and each gets its response', async () => {
    const { world, queue } = arrange();
    const results = await Promise.all(Array.from({ length: 500 }, (_, id) => queue.enqueue(demo, request(id))));
    assert.equal(world.writes, 2);
    assert.equal(world.maxInProgress, 1);
    assert.equal(world.stored.get('team/demo')?.['sync.io/requested-ref'], 'v499');
    assert.equal(isSuperseded(results.at(0)), false);
    assert.equal(isSuperseded(results.at(-1)), false);
    assert.ok(results.slice(1, -1).every((result) => result.kind === 'stored' && result.superseded));
  });

  test('get the ID that is stored, with a suffix that shows later edits', async () => {
    const { world, queue } = arrange();
    const result = await queue.enqueue(demo, request(1));
    const recorded = requestIn(world.stored.get('team/demo'));
    assert.match(recorded?.id ?? '', /^1~[0-9a-f]{12}$/);
    assert.equal('requestId' in result && result.requestId, recorded?.id);
    assert.ok(recorded && !isEdited(recorded));
    for (const edit of [{ ref: 'v2' }, { at: '2026-01-01T00:00:00.000Z' }, { by: 'me' }, { repo: 'org/repo' }])
      assert.ok(isEdited({ ...recorded, ...edit }), JSON.stringify(edit));
    const { requestId } = { requestId: '', ...(await queue.enqueue(demo, push('main'))) };
    assert.equal(requestId, undefined, 'a push has none');
  });

  test('keep both the last request and the last push', async () => {
    const { world, queue } = arrange();
    const results = await Promise.all(
      [request(1), request(2), push('a'), push('b'), request(5)].map((each) => queue.enqueue(demo, each)),
    );
    assert.equal(world.stored.get('team/demo')?.['sync.io/requested-ref'], 'v5');
    assert.equal(world.stored.get('team/demo')?.['sync.io/pushed-ref'], 'refs/heads/b');
    assert.deepEqual(results.map(isSuperseded), [false, true, true, false, false]);
  });
});

suite('deliveries with a time of their own', () => {
  const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;

  test('are stored with it, but never with one later than the arrival', async () => {
    const { world, queue } = arrange();
    const madeAt = minutesAgo(10);
    await queue.enqueue(demo, { ...requestAndPush(1), madeAt });
    const stored = world.stored.get('team/demo');
    assert.equal(stored?.['sync.io/requested-at'], new Date(madeAt).toISOString());
    assert.equal(stored?.['sync.io/pushed-at'], new Date(madeAt).toISOString());
    await queue.enqueue(demo, { ...request(2), madeAt: minutesAgo(-10) });
    assert.ok(Date.parse(world.stored.get('team/demo')?.['sync.io/requested-at'] ?? '') <= Date.now());
  });

  test('are ordered by it if they wait together, separately for requests and pushes', async () => {
    const { world, queue } = arrange();
    const results = await Promise.all(
      [
        request(0),
        { ...request(2), madeAt: minutesAgo(1) },
        { ...push('a'), madeAt: minutesAgo(3) },
        { ...requestAndPush(1), madeAt: minutesAgo(2) },
      ].map((each) => queue.enqueue(demo, each)),
    );
    const stored = world.stored.get('team/demo');
    assert.deepEqual([stored?.['sync.io/requested-ref'], stored?.['sync.io/pushed-ref']], ['v2', 'refs/heads/main']);
    assert.deepEqual(results.slice(1).map(isSuperseded), [false, true, true]);
  });
});

suite('deliveries about several repositories', () => {
  const about = (repository: string, id: number): Delivery & Sender => ({ ...request(id), repository });

  /** A cluster whose policy refuses all repositories but one, and every patch that came. */
  function ownedBy(repository: string) {
    const patches: Annotations[] = [];
    const annotate: Annotate = async (_target, annotations) => {
      patches.push(annotations);
      await sleep(5);
      if (annotations['sync.io/requested-repo'] === repository) return;
      const causes = [{ message: 'other repository: sync.io/requested-repo is neither …' }];
      throw new ApiError(422, JSON.stringify({ details: { causes } }));
    };
    return { patches, queue: new AnnotationQueue({ annotate, log }) };
  }

  test('are stored in the order of arrival if all are accepted', async () => {
    const { world, queue } = arrange();
    const names = ['a/a', 'b/b', 'b/b', 'a/a', 'c/c', 'a/a', '-'];
    await Promise.all(names.map((name, id) => queue.enqueue(demo, about(name, id))));
    assert.equal(world.stored.get('team/demo')?.['sync.io/requested-ref'], 'v6');
    assert.equal(world.stored.get('team/demo')?.['sync.io/requested-repo'], '-');
  });

  test('each get their own response, in any order', async () => {
    const { queue, patches } = ownedBy('org/own');
    const names = Array.from({ length: 60 }, (_, id) => (id % 3 === 0 ? 'org/own' : `org/other${id % 4}`));
    const results = await Promise.all(names.map((name, id) => queue.enqueue(demo, about(name, id))));
    for (const [id, name] of names.entries())
      assert.equal(results[id]?.kind, name === 'org/own' ? 'stored' : 'ignored', `${id}: ${name}`);
    const stored = patches.filter((patch) => patch['sync.io/requested-repo'] === 'org/own');
    assert.equal(stored.at(-1)?.['sync.io/requested-ref'], 'v57', 'the newest of its own remains');
    assert.equal(queue.waiting, 0);
  });
});

/** A logger, and the fields of its warnings. */
function recordingLog() {
  const lines: Record<string, unknown>[] = [];
  const recording = createLogger('test', { level: 'silent' });
  recording.warn = (fields: unknown) => void lines.push(fields as Record<string, unknown>);
  return { log: recording, lines };
}

const certificateError = () => codedError('CERT_HAS_EXPIRED', 'certificate has expired');

suite('a failed write', () => {
  test('is retried together with newer deliveries if a retry can help', slow, async () => {
    for (const error of [new ApiError(409, ''), codedError('ECONNRESET', 'read ECONNRESET')]) {
      const { world, queue } = arrange();
      world.errors.push(error);
      const first = queue.enqueue(demo, request(1));
      await sleep(15);
      const second = queue.enqueue(demo, request(2));
      assert.equal(isSuperseded(await first), true);
      assert.equal(isSuperseded(await second), false);
      assert.equal(world.stored.get('team/demo')?.['sync.io/requested-ref'], 'v2');
    }
  });

  test('is given up at the deadline, and a later delivery starts afresh', slow, async () => {
    const { world, queue } = arrange({ deadlineMs: 120 });
    world.errors.push(...Array.from({ length: 4 }, () => new ApiError(503, '')));
    const started = performance.now();
    const result = await queue.enqueue(demo, request(1));
    assert.equal(result.kind, 'refused');
    assert.ok(performance.now() - started < 5000);
    world.errors.length = 0;
    await sleep(400);
    assert.equal(isSuperseded(await queue.enqueue(demo, request(2))), false);
    assert.equal(world.stored.get('team/demo')?.['sync.io/requested-ref'], 'v2');
  });

  test("is given up at once if a retry can't help, and the log contains the reason", async () => {
    const { log, lines } = recordingLog();
    const { world, queue } = arrange({ log });
    world.errors.push(new Error('no token in /var/run/secrets'), new ApiError(400, ''), certificateError());
    for (let i = 0; i < 3; i++) {
      const result = await queue.enqueue(demo, request(i));
      assert.equal(result.kind === 'refused' && result.reason, 'ApiServerRefused');
    }
    assert.equal(world.writes, 3);
    assert.match(String(lines[0]?.err), /no token in/);
    assert.equal(lines[0]?.name, 'demo');
    assert.ok(lines.length <= 2, 'one line a second');
  });

  const denial = new ApiError(403, '{"reason":"Forbidden","message":"User \\"r\\" cannot patch resource"}');

  test('because access was denied is retried, because the API server may have just started', slow, async () => {
    const { world, queue } = arrange();
    world.errors.push(new ApiError(503, ''), denial, denial, denial);
    assert.equal((await queue.enqueue(demo, request(1))).kind, 'stored');
  });

  test('because access was denied is reported as rejected at the deadline', async () => {
    const { log, lines } = recordingLog();
    const { world, queue } = arrange({ log, deadlineMs: 150 });
    world.errors.push(...Array.from({ length: 50 }, () => denial));
    const result = await queue.enqueue(demo, request(2));
    assert.equal(result.kind === 'refused' && result.reason, 'ApiServerRefused');
    assert.equal(lines[0]?.err, denial);
  });

  test('is logged once with its cause after the deadline, instead of once per delivery', async () => {
    const { log, lines } = recordingLog();
    const { world, queue } = arrange({ log, deadlineMs: 150 });
    world.errors.push(...Array.from({ length: 50 }, () => new ApiError(500, '{"message":"etcd is away"}')));
    const results = await Promise.all([1, 2, 3, 4, 5].map((id) => queue.enqueue(demo, request(id))));
    assert.ok(results.every((result) => result.kind === 'refused' && result.reason === 'ApiServerUnavailable'));
    assert.match(String(lines[0]?.err), /etcd is away/);
    assert.ok(lines.length <= 2, 'one line a second');
  });

  test("leaves no delivery waiting after an unexpected error, and doesn't end the process", async () => {
    let now = Number.NaN;
    const clock = { offsetMs: 0, at: () => new Date(now) };
    const deadlineMs = 5_000;
    const { log, lines } = recordingLog();
    const { queue } = arrange({ log, clock, deadlineMs });
    const began = performance.now();
    const result = await queue.enqueue(demo, request(1));
    assert.equal(result.kind === 'refused' && result.reason, 'ApiServerUnavailable');
    assert.ok(performance.now() - began < deadlineMs, 'it was left to the deadline');
    assert.equal(queue.waiting, 0);
    assert.equal(lines.length, 1);
    now = Date.now();
    assert.equal((await queue.enqueue(demo, request(2))).kind, 'stored', 'a later delivery');
  });

  test("for one resource doesn't delay another resource", async () => {
    const hanging: Annotate = ({ name }) =>
      name === 'demo' ? sleep(2000, undefined, { ref: false }) : Promise.resolve();
    const queue = new AnnotationQueue({ annotate: hanging, log, deadlineMs: 100, concurrency: 2 });
    const stuck = queue.enqueue(demo, request(1));
    assert.equal((await queue.enqueue({ namespace: 'team', name: 'other' }, request(2))).kind, 'stored');
    assert.equal((await stuck).kind, 'refused');
  });
});

/** What the API server answers when the receiver's policy finds a part older than what is stored. */
const older = (key: string) => {
  const message = `superseded: ${key} is older than the stored one`;
  return new ApiError(422, JSON.stringify({ reason: 'Invalid', details: { name: 'demo', causes: [{ message }] } }));
};

suite('a delivery that is older than the stored one', () => {
  test("is reported as superseded, and isn't written again", async () => {
    const { world, queue } = arrange();
    world.errors.push(older('sync.io/requested-at'));
    assert.equal(isSuperseded(await queue.enqueue(demo, request(1))), true);
    assert.equal(world.writes, 1);
    assert.equal(world.stored.size, 0);
  });

  test("doesn't affect deliveries that arrived with it", async () => {
    const { world, queue } = arrange();
    world.errors.push(older('sync.io/requested-at'));
    const results = await Promise.all([
      queue.enqueue(demo, request(1)),
      queue.enqueue({ ...demo, name: 'other' }, request(2)),
      queue.enqueue(demo, requestAndPush(3)),
    ]);
    assert.deepEqual(results.map(isSuperseded), [true, false, false]);
    world.errors.push(older('sync.io/requested-at'));
    const both = await queue.enqueue(demo, requestAndPush(4));
    assert.equal(isSuperseded(both), true);
    assert.equal(world.stored.get('team/demo')?.['sync.io/requested-ref'], 'v3', 'its request is not stored');
    assert.equal(world.writes, 5, 'its push is');
  });

  test("is written again with the API server's time if the local clock was wrong", async () => {
    const world = new World();
    let wrong = Date.now() - 60_000;
    const clock = new ServerClock(() => wrong);
    const sent: string[] = [];
    const queue = new AnnotationQueue({
      log,
      clock,
      annotate: async (resource, annotations, timeoutMs) => {
        sent.push(annotations['sync.io/requested-at'] ?? '');
        clock.observe(new Date().toUTCString());
        wrong += 1;
        await world.annotate(resource, annotations, timeoutMs);
      },
    });
    world.errors.push(older('sync.io/requested-at'));
    assert.equal(isSuperseded(await queue.enqueue(demo, request(1))), false);
    assert.equal(sent.length, 2);
    assert.ok(Math.abs(Date.parse(sent[1] ?? '') - Date.now()) < 20_000, String(sent));
  });
});

test('API servers whose clocks differ cause one retry, and no endless loop', async () => {
  const world = new World();
  const clock = new ServerClock();
  let answers = 0;
  const queue = new AnnotationQueue({
    log,
    clock,
    deadlineMs: 2000,
    annotate: async (resource, annotations, timeoutMs) => {
      const minutes = answers++ % 2 === 0 ? 1 : -1;
      clock.observe(new Date(Date.now() + minutes * 60_000).toUTCString());
      world.errors.push(older('sync.io/requested-at'));
      await world.annotate(resource, annotations, timeoutMs);
    },
  });
  assert.equal(isSuperseded(await queue.enqueue(demo, request(1))), true);
  assert.equal(world.writes, 2);
});

suite('the load on the API server', () => {
  test('is limited across all resources', async () => {
    const { world, queue } = arrange({ concurrency: 4 });
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => queue.enqueue({ namespace: 'team', name: `r${i}` }, request(i))),
    );
    assert.equal(world.maxInProgress, 4);
    assert.equal(world.stored.size, 40);
  });

  test('is limited per resource, and other resources are still served', async () => {
    const { queue } = arrange({ maxWaitingForOne: 3 });
    const results = await Promise.all([1, 2, 3, 4].map((id) => queue.enqueue(demo, request(id))));
    assert.deepEqual(results.at(-1), { kind: 'refused', reason: 'TooManyRequests', retryAfterSeconds: 1 });
    assert.ok(results.slice(0, 3).every(({ kind }) => kind === 'stored'));
    assert.equal(queue.waiting, 0);
  });

  test('is limited by the number of waiting deliveries', async () => {
    const { queue } = arrange({ maxWaiting: 10 });
    const results = await Promise.all(Array.from({ length: 15 }, (_, id) => queue.enqueue(demo, request(id))));
    assert.equal(results.filter(({ kind }) => kind === 'stored').length, 10);
    assert.equal(results.filter(({ kind }) => kind === 'refused').length, 5);
    assert.equal((await queue.enqueue(demo, request(99))).kind, 'stored');
  });
});
