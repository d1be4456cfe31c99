import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import type { Verification } from '../../../../agent/gateway/verification.ts';
import { VerificationFile } from '../../../../agent/gateway/verification-file.ts';
import { Verifier } from '../../../../agent/gateway/verifier.ts';
import type { Intent } from '../../../../agent/resource/judge-resource.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { intentOf } from '../../../support/intents.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ownFileIn } from '../support/own-file-in.ts';

const settings = { requests: [{ path: '/health' }], forMs: 0, intervalMs: 1, failureThreshold: 1 };

const verifiedBy = (verification: object = {}, reload: object = {}): Intent => {
  const base = intentOf({ verification: { ...settings, ...verification } });
  return { ...base, reload: { ...base.reload, ...reload } };
};

/** A verifier of what listens on the port, with its results in a new directory. */
async function verifierOf(t: TestContext, port: number, directory?: string): Promise<Verifier> {
  const own = directory ?? (await temporaryDirectory(t, 'verifier-'));
  const apiKeyFile = path.join(own, 'api-key');
  await writeFile(apiKeyFile, 'name:secret');
  const results = new VerificationFile(await ownFileIn(own, 'verification'));
  return new Verifier({
    client: new GatewayClient({ port, tls: false, apiKeyFile }),
    results,
    headersDirectory: path.join(own, 'headers'),
    valuesOf: async ({ commit }) => new Map([['Commit', commit]]),
    log: pino({ level: 'silent' }),
  });
}

/** Everything that there was to say, to the end. */
async function verify(verifier: Verifier, intent: Intent): Promise<(Verification | undefined)[]> {
  const said: (Verification | undefined)[] = [];
  await new Promise<void>((resolve) => {
    verifier.begin(intent, () => {
      const state = verifier.stateOf(intent);
      said.push(state);
      if (state?.state !== 'Running') resolve();
    });
  });
  return said;
}

function isFailed(verification: Verification | undefined, words: RegExp): void {
  assert.equal(verification?.state, 'Failed');
  assert.match(verification.words ?? '', words);
}

const listen = async (t: TestContext, listener: RequestListener) =>
  Number(new URL(await startHttpHost(t, listener)).port);

suite('a release that changes no file of a gateway', () => {
  const next = { ...verifiedBy(), commit: 'b'.repeat(40) };

  test('is not verified if the gateway has passed with these files, even after a restart', async (t) => {
    let requests = 0;
    const port = await listen(t, (_, response) => {
      requests += 1;
      response.end();
    });
    const directory = await temporaryDirectory(t, 'verifier-');
    const verifier = await verifierOf(t, port, directory);
    await verify(verifier, verifiedBy());
    assert.equal(requests, 1);
    for (const intent of [next, { ...next, commit: 'c'.repeat(40) }]) {
      verifier.skip(intent);
      verifier.begin(intent, () => assert.fail('nothing is checked'));
      assert.deepEqual(verifier.stateOf(intent), { state: 'Unchanged', words: undefined });
    }
    const restarted = await verifierOf(t, port, directory);
    const last = { ...next, commit: 'c'.repeat(40), generation: 2 };
    restarted.begin(last, () => assert.fail('nothing is checked'));
    assert.equal(restarted.stateOf(last)?.state, 'Unchanged');
    assert.equal(requests, 1);
    restarted.beforeChange(last);
    assert.equal((await verify(restarted, last)).at(-1)?.state, 'Passed', 'its files have changed after all');
  });

  test('is verified if the gateway has failed with these files, or was not verified yet', async (t) => {
    const port = await listen(t, (_, response) => response.writeHead(500).end());
    const verifier = await verifierOf(t, port);
    verifier.skip(next);
    assert.equal((await verify(verifier, next)).at(-1)?.state, 'Failed');
    verifier.skip({ ...next, commit: 'c'.repeat(40) });
    assert.equal((await verify(verifier, { ...next, commit: 'c'.repeat(40) })).at(-1)?.state, 'Failed');
  });

  test('needs no verification if none is configured', async (t) => {
    const verifier = await verifierOf(t, 1);
    const intent = intentOf();
    verifier.skip(intent);
    verifier.begin(intent, () => assert.fail('there is nothing to report'));
    assert.equal(verifier.stateOf(intent), undefined);
  });
});

suite('one check of a gateway', () => {
  test('names the commit and the ref, so that a gateway with another configuration can refuse it', async (t) => {
    const intent = verifiedBy();
    const port = await listen(t, ({ headers }, response) => {
      const isCurrent = headers['x-sync-commit'] === intent.commit && headers['x-sync-ref'] === intent.ref;
      response.writeHead(isCurrent ? 200 : 409).end();
    });
    const states = await verify(await verifierOf(t, port), intent);
    const names = states.map((state) => state?.state);
    assert.deepEqual(names, ['Passed']);
  });

  /** Lines with the requests to the gateway, the key, and the result. */
  async function look(t: TestContext, intent: Intent) {
    const lines: string[] = [];
    const port = await listen(t, ({ method, url, headers }, response) => {
      lines.push([method, url, headers['x-ignition-api-token']].filter(Boolean).join(' '));
      response.end();
    });
    const said = await verify(await verifierOf(t, port), intent);
    return { lines, last: said.at(-1) };
  }

  test('makes all calls, and expects of each its own status', async (t) => {
    const requests = [{ path: '/a?x=1' }, { path: '/b', expectStatus: 204 }, { path: '/c' }];
    const all = await look(t, verifiedBy({ requests: [requests[0], requests[2]] }));
    assert.deepEqual([all.lines, all.last?.state], [['GET /a?x=1', 'GET /c'], 'Passed']);
    const { lines, last } = await look(t, verifiedBy({ requests }));
    assert.deepEqual(lines, ['GET /a?x=1', 'GET /b'], 'none after the first that goes wrong');
    isFailed(last, / 200 .* GET \/b$/);
  });

  test('sends a body and headers, and compares values of the response', async (t) => {
    const requests = [
      {
        method: 'POST',
        path: '/check',
        body: '{"commit": "{{ .Commit }}"}',
        headers: [{ name: 'Content-Type', value: 'application/json' }],
        headersFrom: [{ name: 'Authorization', secretRef: { name: 'keys', key: 'token' } }],
        expect: { json: [{ path: '/commit', equals: '{{ .Commit }}' }], contains: 'commit' },
      },
    ];
    const intent = verifiedBy({ requests, failureThreshold: 3 });
    const directory = await temporaryDirectory(t, 'verifier-');
    await mkdir(path.join(directory, 'headers/keys'), { recursive: true });
    await writeFile(path.join(directory, 'headers/keys/token'), 'Bearer secret\n');
    const answers = ['{"commit": "old"}', '{"is": "commit"}'];
    const port = await listen(t, async (request, response) => {
      assert.equal(request.headers.authorization, 'Bearer secret');
      const body = await text(request);
      response.end(answers.shift() ?? body);
    });
    const said = await verify(await verifierOf(t, port, directory), intent);
    assert.deepEqual(
      said.map((state) => state?.state),
      ['Running', 'Running', 'Passed'],
    );
    assert.match(said[0]?.words ?? '', /has "old" at \/commit, .* \(POST \/check\)$/);
    assert.match(said[1]?.words ?? '', /has nothing at \/commit/);
  });

  test('makes the calls of the preset with its key, and those of the spec without it', async (t) => {
    const { lines } = await look(t, verifiedBy({}, { preset: 'ignition' }));
    assert.deepEqual(lines.slice(1), ['GET /data/api/v1/gateway-info name:secret', 'GET /health']);
  });

  test('of a standby judges nothing, and a gateway that was one is checked from the beginning', async (t) => {
    const directory = await temporaryDirectory(t, 'verifier-');
    await writeFile(path.join(directory, 'api-key'), 'name:secret');
    let roles = 0;
    let checks = 0;
    const port = await listen(t, ({ url = '' }, response) => {
      if (!url.endsWith('/redundancy')) {
        checks += 1;
        response.writeHead(500).end();
        return;
      }
      roles += 1;
      response.end(JSON.stringify({ role: 'Backup', activityLevel: roles > 4 ? 'Active' : 'Cold' }));
    });
    const intent = verifiedBy({ intervalMs: 10, failureThreshold: 3 }, { preset: 'ignition' });
    const states = await verify(await verifierOf(t, port, directory), intent);
    assert.equal(states.at(-1)?.state, 'Failed');
    assert.deepEqual([roles, checks], [7, 3]);
  });

  test('calls the readiness URL if no other call is configured', async (t) => {
    assert.deepEqual((await look(t, verifiedBy({ requests: [] }, { readyPath: '/ready' }))).lines, ['GET /ready']);
    assert.deepEqual((await look(t, verifiedBy({}, { readyPath: '/ready' }))).lines, ['GET /health']);
    const unverified = await look(t, verifiedBy({ requests: [] }));
    assert.match(unverified.last?.words ?? '', / spec\.gateway\.verify$/);
  });

  test('abandons a call that takes too long', async (t) => {
    const port = await listen(t, () => {});
    const [last] = await verify(await verifierOf(t, port), verifiedBy({}, { timeoutMs: 50 }));
    isFailed(last, / GET \/health .* 50ms$/);
  });

  test('abandons a response that never ends, even if it contains the text', async (t) => {
    const port = await listen(t, (_, response) => {
      response.socket?.write('HTTP/1.1 200 OK\r\n\r\nok');
    });
    const requests = [{ path: '/log', expect: { contains: 'ok' } }];
    const [last] = await verify(await verifierOf(t, port), verifiedBy({ requests }, { timeoutMs: 600 }));
    isFailed(last, / GET \/log .* 600ms$/);
  });

  test('closes the connection instead of reading an endless answer', async (t) => {
    let closed: Promise<unknown> | undefined;
    const port = await listen(t, (_, response) => {
      closed = once(response, 'close');
      response.writeHead(200);
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        response.once('drain', write);
      };
      write();
    });
    const [last] = await verify(await verifierOf(t, port), verifiedBy());
    assert.equal(last?.state, 'Passed');
    await closed;
  });
});

suite('the verifier of a gateway', () => {
  test("waits for a gateway that hasn't started since the agent did", async (t) => {
    const port = await freePort();
    const verifier = await verifierOf(t, port);
    const intent = verifiedBy();
    const wrong = new Promise<Verification | undefined>((resolve) => {
      verifier.begin(intent, () => resolve(verifier.stateOf(intent)));
    });
    const { state, words } = (await wrong) ?? {};
    assert.equal(state, 'Running', 'a threshold of one');
    assert.match(words ?? '', /\(ECONNREFUSED\) \(GET \/health\)$/);
    verifier.keepOnly(undefined);
    assert.equal(verifier.stateOf(intent), undefined);
  });

  test('keeps its message within the limit of a report, however many checks fail differently', async (t) => {
    let looks = 0;
    const port = await listen(t, (_, response) => response.writeHead(400 + (++looks % 100)).end());
    const said = await verify(await verifierOf(t, port), verifiedBy({ failureThreshold: 60 }));
    assert.equal(looks, 60);
    assert.equal(said.length, 11);
    isFailed(said.at(-1), / 460 .* GET \/health$/);
  });
});
