import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { startHttpHost } from '../../../support/http-host.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';

/** Serves one body to all clients, and returns the port. */
const serve = async (t: TestContext, body: string) =>
  Number(new URL(await startHttpHost(t, (_request, response) => response.end(body))).port);

/** Asks a Git LFS server where an object is, and gives the code of the error. */
const askLfs = (port: number) =>
  runInSmallHeap(`
    import { offersOf } from ${importable('agent/lfs/lfs-api.ts')};
    import { localHttp } from ${importable('tests/support/local-http.ts')};
    const server = { url: new URL('http://127.0.0.1:${port}/x.git/info/lfs'), headers: {}, isSecure: false };
    const asking = { server, ca: undefined, http: localHttp(), signal: new AbortController().signal };
    await offersOf([{ oid: 'a'.repeat(64), size: 1 }], asking).catch(({ code }) => console.log(code));
    process.exit();`);

/** Asks a gateway who edits on it, and gives the code of the error. */
const askGateway = (port: number) =>
  runInSmallHeap(`
    import { writeFileSync, rmSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { GatewayClient } from ${importable('agent/gateway/gateway-client.ts')};
    import { findPreset } from ${importable('agent/gateway/presets/find-preset.ts')};
    const apiKeyFile = tmpdir() + '/api-key-' + process.pid;
    writeFileSync(apiKeyFile, 'key');
    const client = new GatewayClient({ port: ${port}, tls: false, apiKeyFile });
    await findPreset('ignition').listEditors({ client }).catch(({ code }) => console.log(code));
    rmSync(apiKeyFile);`);

suite('with the heap of a small container, the agent survives a megabyte of JSON that is wrong everywhere', () => {
  const bodies: [name: string, body: string][] = [
    ['numbers', '0,'.repeat(520_000)],
    ['brackets', '['.repeat(1_000_000)],
  ];
  for (const [name, body] of bodies) {
    test(`${name}, sent by a Git LFS server`, async (t) => {
      assert.equal(await askLfs(await serve(t, `{"objects":[${body}0]}`)), 'lfs.unusable');
    });

    test(`${name}, sent by a gateway`, async (t) => {
      assert.equal(await askGateway(await serve(t, `{"items":[${body}0]}`)), 'gateway.answer');
    });
  }

  test('with numbers, stored in a manifest', async () => {
    const said = await runInSmallHeap(`
      import { MANIFEST_HEADER } from ${importable('agent/volume/manifest/manifest-text.ts')};
      import { parseManifest } from ${importable('agent/volume/manifest/parse-manifest.ts')};
      const line = '{"path":"a","inputs":{"hash":"","keys":[' + '0,'.repeat(520_000) + '0]}}\\n';
      const { kind, lines } = await parseManifest([Buffer.from(MANIFEST_HEADER + line)]);
      console.log(kind, lines);`);
    assert.equal(said, 'manifest 0');
  });

  test("and still parses a Git LFS server's answer that reports every field of each object", async (t) => {
    const oid = (n: number) => n.toString(16).padStart(64, '0');
    const header = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`x-header-${n}`, 'x'.repeat(80)]));
    const objects = Array.from({ length: 100 }, (_, n) => ({
      oid: oid(n),
      size: 1,
      authenticated: true,
      actions: { download: { href: `https://cdn.test/${n}`, header, expires_at: '2026-11-22T00:00:00Z' } },
    }));
    assert.equal(await askLfs(await serve(t, JSON.stringify({ transfer: 'basic', objects }))), '');
  });
});
