import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { incompleteDirectory, objectPath } from '../../../../agent/lfs/fetch-lfs-objects.ts';
import { LfsStore } from '../../../../agent/lfs/lfs-store.ts';
import { type LfsPointer, parseLfsPointer } from '../../../../agent/plan/lfs-pointer.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost } from '../../../support/lfs-host.ts';
import { localHttp } from '../../../support/local-http.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const GIB = 1024 ** 3;

/** A server, and a store with the beginning of an object; each request runs `onRequest` before its response. */
async function begin(t: TestContext, start: Buffer, onRequest: (file: string) => Promise<void> = async () => {}) {
  const server = await gitServerFor(t, {});
  const directory = await temporaryDirectory(t, 'lfs-');
  const lfs = createLfsHost(`${server.url}/x.git/info/lfs/objects`);
  const content = Buffer.concat([start, Buffer.alloc(1024 * 1024, 'rest')]);
  const pointer = parseLfsPointer(Buffer.from(lfs.add(content)));
  assert.ok(pointer);
  const file = path.join(incompleteDirectory(directory), pointer.oid);
  server.lfs = (request, response) => void onRequest(file).then(() => lfs.listener(request, response));
  await mkdir(incompleteDirectory(directory), { recursive: true });
  await writeFile(file, start);
  const store = new LfsStore({ git: new Git(process.env), http: localHttp(), path: directory });
  const fetchAll = (wanted: LfsPointer[], signal?: AbortSignal, fetchTimeoutMs = 60_000) =>
    store.fetch(wanted, { repo: `${server.url}/x.git`, access: {}, signal, fetchTimeoutMs });
  const fetch = (wanted: LfsPointer, ...more: [AbortSignal?, number?]) => fetchAll([wanted], ...more);
  return { server, lfs, pointer, file, fetch, fetchAll, object: objectPath(directory, pointer.oid) };
}

/** Paths of the files that this process has open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return []; // closed in the meantime
    }
  });

test('no download continues after another one has failed', { skip: process.platform !== 'linux' }, async (t) => {
  const { server, lfs, pointer, file, fetchAll } = await begin(t, Buffer.from('start'));
  const missing = parseLfsPointer(Buffer.from(lfs.add(Buffer.from('missing'))));
  assert.ok(missing);
  server.lfs = async (request, response) => {
    if (request.method === 'POST') lfs.listener(request, response);
    else if (request.url?.includes(missing.oid)) {
      await until(openFiles, { describe: 'the other download', accept: (files) => files.includes(file) });
      response.writeHead(404).end();
    } else response.writeHead(200).write('rest');
  };
  await assert.rejects(fetchAll([pointer, missing]), { code: /^lfs\./ });
  assert.ok(!openFiles().includes(file));
});

suite('the first part of a Git LFS object', () => {
  test('is completed by the rest', async (t) => {
    const start = Buffer.alloc(1024 * 1024, 'start');
    const { fetch, lfs, pointer, object } = await begin(t, start);
    await fetch(pointer);
    assert.deepEqual(await readFile(object), Buffer.concat([start, Buffer.alloc(1024 * 1024, 'rest')]));
    const ranges = lfs.requests.map(({ headers }) => headers.range);
    assert.deepEqual(ranges, [undefined, `bytes=${start.length}-`]);
  });

  test('is verified with the rest, but only while the fetch continues', async (t) => {
    const { fetch, file, lfs, pointer, server } = await begin(t, Buffer.from('start'));
    await truncate(file, 16 * GIB);
    server.lfs = (request, response) => {
      if (request.method === 'POST') lfs.listener(request, response);
      else response.writeHead(206, { 'content-range': `bytes ${16 * GIB}-${16 * GIB + 3}/*` }).end('rest');
    };
    const stop = new AbortController();
    const reason = new Error('another commit came');
    const fetching = assert.rejects(fetch({ ...pointer, size: 16 * GIB + 4 }, stop.signal), reason);
    const sizeOf = async () => (await stat(file)).size;
    await until(sizeOf, { describe: 'the rest of the object', accept: (size) => size === 16 * GIB + 4 });
    stop.abort(reason);
    await fetching;
    assert.equal(await sizeOf(), 16 * GIB + 4);
  });

  test("is kept when spec.git.timeout expires, which a silent server can't delay", async (t) => {
    const { fetch, file, pointer } = await begin(t, Buffer.from('start'), () => new Promise(() => {}));
    await assert.rejects(fetch(pointer, undefined, 300), { code: 'lfs.timeout', reason: 'GitTimeout' });
    assert.equal(await readFile(file, 'utf8'), 'start');
  });

  test('is discarded if it is longer than the object', async (t) => {
    const { fetch, file, lfs, pointer, object } = await begin(t, Buffer.from('start'));
    await truncate(file, pointer.size + 1);
    await fetch(pointer);
    assert.equal((await readFile(object)).length, pointer.size);
    const ranges = lfs.requests.map(({ headers }) => headers.range);
    assert.deepEqual(ranges, [undefined, undefined]);
  });
});
