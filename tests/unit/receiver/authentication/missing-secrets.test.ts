import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { missingSecrets } from '../../../../receiver/authentication/missing-secrets.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Returns the path of a key in a mounted Secret with these keys. */
async function keyIn(t: TestContext, keys: Record<string, string>, key = 'key'): Promise<string> {
  const directory = await temporaryDirectory(t, 'missing-secrets-');
  for (const [name, text] of Object.entries(keys)) await writeFile(join(directory, name), text);
  return join(directory, key);
}

suite('a receiver without a usable secret reports', () => {
  for (const [title, keys, problems] of [
    ['nothing if the file has one', { key: 'secret' }, 0],
    ['an empty file', { key: ' \n\n' }, 1],
    ['a missing key', { other: 'secret' }, 1],
    ['a Secret without keys', {}, 1],
    ['nothing if a resource has its own secret, and the key is missing', { 'team.demo': 'own' }, 0],
    ['nothing if a resource has its own secret, and the key is empty', { key: '', 'team.demo': 'own' }, 0],
    ['a missing key next to the links of the mount', { '..data.tmp': '' }, 1],
  ] as const) {
    test(title, async (t) => {
      const file = await keyIn(t, keys);
      assert.equal((await missingSecrets({ hmac: { file } })).length, problems);
    });
  }

  test('an empty value, and nothing about a method that is not configured', async () => {
    assert.equal((await missingSecrets({ bearer: { value: ' ' } })).length, 1);
    assert.equal((await missingSecrets({ hmac: { value: '' }, bearer: { value: 'token' } })).length, 1);
    assert.deepEqual(await missingSecrets({ hmac: undefined, bearer: { value: 'token' } }), []);
  });

  test('a problem for a key whose name looks like that of a resource, if it is the only one', async (t) => {
    const file = await keyIn(t, { 'webhook.secret': '' }, 'webhook.secret');
    assert.equal((await missingSecrets({ hmac: { file } })).length, 1);
  });

  test('the keys that the Secret has, without the links of the mount', async (t) => {
    const file = await keyIn(t, { b: '', a: '', '..data': '' });
    const [problem] = await missingSecrets({ hmac: { file } });
    assert.match(problem ?? '', /\ba, b;/);
  });
});
