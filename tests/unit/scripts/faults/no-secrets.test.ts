import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { noSecrets } from '../../../../scripts/faults/invariants/no-secrets.ts';
import type { World } from '../../../../scripts/faults/world/world.ts';
import type { ApiCall } from '../../../../scripts/testbed/call-api.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const hook = 'hook-0123456789ab';
const gitToken = 'token-0123456789';
const signature = 'c2lnbmF0dXJl';

/** A world with one log, one credential, and objects whose text is the same at each path. */
async function search(t: TestContext, { log = '', objects = {} }: { log?: string; objects?: Record<string, string> }) {
  const directory = await temporaryDirectory(t, 'secrets-');
  await mkdir(path.join(directory, 'logs'));
  await mkdir(path.join(directory, 'server'));
  await writeFile(path.join(directory, 'logs/controller-0.log'), log);
  await writeFile(path.join(directory, 'server/a.kubeconfig'), `{"token": "header.claims.${signature}"}`);
  const ask = async ({ path: at }: ApiCall) => ({ text: objects[at.split('/').at(-1) ?? ''] });
  const plane = { ask, server: { dir: path.join(directory, 'server') } };
  return await noSecrets({
    directory,
    plane,
    senders: { secrets: [hook] },
    hosts: { tokens: [gitToken] },
  } as never as World);
}

suite('the check for secrets', () => {
  const base64 = Buffer.from(gitToken).toString('base64');
  for (const [what, secret] of Object.entries({
    'webhook secret': hook,
    'git token': gitToken,
    'git token in base64': base64,
  }))
    test(`finds a ${what} in a log`, async (t) => {
      assert.match((await search(t, { log: `x ${secret} y` })).join(), /^controller-0\.log holds a (webhook|git)/);
    });

  test('finds a Kubernetes token in a log by its signature', async (t) => {
    assert.deepEqual(await search(t, { log: `Bearer x.y.${signature}` }), [
      'controller-0.log holds a token of Kubernetes',
    ]);
  });

  for (const kind of ['gatewaysyncs', 'syncreports', 'syncreleases', 'events', 'rolebindings', 'leases'])
    test(`finds a secret in ${kind}`, async (t) => {
      assert.match(
        (await search(t, { objects: { [kind]: hook } })).join(),
        new RegExp(`${kind} holds a webhook secret`),
      );
    });
});

test('the check for secrets reports nothing if there is no secret', async (t) => {
  assert.deepEqual(await search(t, { log: 'header.claims', objects: { leases: 'hook-' } }), []);
});
