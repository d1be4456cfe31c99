import assert from 'node:assert/strict';
import { open, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hmacKeyOf } from '../../../../receiver/authentication/hmac-key.ts';
import { createReadSecrets as createReader } from '../../../../receiver/authentication/secrets.ts';
import { tokenDigest } from '../../../../receiver/authentication/verify-token.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { slow } from '../../../support/depth.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** All secrets of these tests. */
const words = ['global', 'global-token', 'good', 'leaked', 'new', 'old', 'older', 'one', 'own', 'two'];

/** Returns the secrets by their text, without the random ones that fill a list. */
const createReadSecrets = (...sources: Parameters<typeof createReader>) => {
  const read = createReader(...sources);
  return async (target: typeof demo) => {
    const { hmac, bearer } = await read(target);
    return {
      hmac: hmac?.flatMap((key) => words.find((word) => key.text.equals(hmacKeyOf(word).text)) ?? []),
      bearer: bearer?.flatMap((digest) => words.find((word) => digest.equals(tokenDigest(word))) ?? []),
    };
  };
};

const demo = { namespace: 'team', name: 'demo' };
const other = { namespace: 'team', name: 'other' };

/** Longer than what was read may be kept. */
const untilRead = () => sleep(1050);

/** Changes all files of a mounted Secret at once, as the kubelet does. */
async function changeData(volume: string, directory: string): Promise<void> {
  await symlink(directory, join(volume, '..data_tmp'));
  await rename(join(volume, '..data_tmp'), join(volume, '..data'));
}

async function directoryOf(t: TestContext, files: Record<string, string>): Promise<string> {
  const directory = await temporaryDirectory(t, 'receiver-secrets-');
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

/** A volume of a Secret with a token, as the kubelet makes it. */
async function mountedToken(t: TestContext, files: { token: string }) {
  const volume = await directoryOf(t, {});
  await symlink(await directoryOf(t, files), join(volume, '..data'));
  await symlink('..data/token', join(volume, 'token'));
  return { volume, readSecrets: createReadSecrets({ bearer: { file: join(volume, 'token') } }) };
}

suite('the secrets in a file', { concurrency: true }, () => {
  test('are its lines, without white space around them', async (t) => {
    const directory = await directoryOf(t, { key: ' new \r\n\n\told\n' });
    const readSecrets = createReadSecrets({ hmac: { file: join(directory, 'key') } });
    assert.deepEqual(await readSecrets(demo), { hmac: ['new', 'old'], bearer: undefined });
  });

  test('of a mounted Secret are all known once its data change, before each file has its link', slow, async (t) => {
    const { volume, readSecrets } = await mountedToken(t, { token: 'one' });
    const second = await directoryOf(t, { token: 'two', 'team.demo': 'own' });
    assert.deepEqual((await readSecrets(demo)).bearer, ['one']);
    await changeData(volume, second);
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).bearer, ['own']);
    await symlink('..data/team.demo', join(volume, 'team.demo'));
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).bearer, ['own']);
  });

  test('of a mounted Secret are read again if a first attempt failed', slow, async (t) => {
    const { volume, readSecrets } = await mountedToken(t, { token: 'one' });
    const second = await directoryOf(t, {});
    assert.deepEqual((await readSecrets(demo)).bearer, ['one']);
    // A link to itself stands for a file that cannot be opened just now, which as root no mode brings about.
    await symlink('token', join(second, 'token'));
    await changeData(volume, second);
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).bearer, ['one']);
    await rm(join(second, 'token'));
    await writeFile(join(second, 'token'), 'two');
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).bearer, ['two']);
  });

  test('of a mounted Secret are ignored if its directory was being removed during the read', async (t) => {
    const next = await directoryOf(t, { token: 'two', 'team.demo': 'own' });
    // Its own file of the resource has gone already, and reading the other one takes until there is a writer.
    const former = await directoryOf(t, {});
    await runCommand('mkfifo', [join(former, 'token')]);
    const volume = await directoryOf(t, {});
    await symlink(former, join(volume, '..data'));
    const reading = createReadSecrets({ bearer: { file: join(volume, 'token') } })(demo);
    const writer = await open(join(former, 'token'), 'w');
    await changeData(volume, next);
    await writer.writeFile('one');
    await writer.close();
    assert.deepEqual((await reading).bearer, ['own']);
  });

  test('of a mounted Secret are removed with their key, and the others are still followed', slow, async (t) => {
    const first = await directoryOf(t, { key: 'global', 'team.demo': 'leaked' });
    const second = await directoryOf(t, { 'team.demo': 'own' });
    const volume = await directoryOf(t, {});
    await symlink(first, join(volume, '..data'));
    const readSecrets = createReadSecrets({ hmac: { file: join(volume, 'key') } });
    assert.deepEqual((await readSecrets(other)).hmac, ['global']);
    await changeData(volume, second);
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).hmac, ['own']);
    assert.deepEqual((await readSecrets(other)).hmac, []);
  });

  test('stay while the file is unavailable', slow, async (t) => {
    const directory = await directoryOf(t, { key: 'good', 'team.demo': 'own' });
    const readSecrets = createReadSecrets({ hmac: { file: join(directory, 'key') } });
    assert.deepEqual((await readSecrets(demo)).hmac, ['own']);
    assert.deepEqual((await readSecrets(other)).hmac, ['good']);
    await rm(directory, { recursive: true });
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).hmac, ['own']);
    assert.deepEqual((await readSecrets(other)).hmac, ['good']);
  });

  test('are empty, not "not configured", if the file is empty, a directory, or missing from the start', async (t) => {
    const directory = await directoryOf(t, { empty: '\n \n' });
    for (const file of [join(directory, 'empty'), directory, join(directory, 'missing'), '/nowhere/at/all']) {
      assert.deepEqual(await createReadSecrets({ hmac: { file } })(demo), { hmac: [], bearer: undefined }, file);
    }
  });

  test('are empty as soon as the file is emptied', slow, async (t) => {
    const directory = await directoryOf(t, { key: 'good' });
    const readSecrets = createReadSecrets({ hmac: { file: join(directory, 'key') } });
    assert.deepEqual((await readSecrets(demo)).hmac, ['good']);
    await writeFile(join(directory, 'key'), '');
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).hmac, []);
  });
});

suite('a resource with its own secret file', { concurrency: true }, () => {
  test('accepts only that, and no global value of either method', async (t) => {
    const hmac = await directoryOf(t, { key: 'global', 'team.demo': 'own\nolder' });
    const readSecrets = createReadSecrets({ hmac: { file: join(hmac, 'key') }, bearer: { value: 'global-token' } });
    assert.deepEqual(await readSecrets(demo), { hmac: ['own', 'older'], bearer: [] });
    assert.deepEqual(await readSecrets(other), { hmac: ['global'], bearer: ['global-token'] });
  });

  test("accepts only that even while the directory without a global file can't be listed", slow, async (t) => {
    const directory = await directoryOf(t, { 'team.demo': 'own' });
    const file = join(directory, 'key');
    const readSecrets = createReadSecrets({ hmac: { file }, bearer: { value: 'global-token' } });
    assert.deepEqual(await readSecrets(demo), { hmac: ['own'], bearer: [] });
    await rename(directory, `${directory}-away`);
    t.after(() => rm(`${directory}-away`, { recursive: true, force: true }));
    await untilRead();
    assert.deepEqual(await readSecrets(demo), { hmac: ['own'], bearer: [] });
  });

  test('accepts nothing while that file is empty', async (t) => {
    const directory = await directoryOf(t, { token: 'global', 'team.demo': '' });
    const readSecrets = createReadSecrets({ bearer: { file: join(directory, 'token') } });
    assert.deepEqual((await readSecrets(demo)).bearer, []);
  });

  test('uses the global value again when that file is removed', slow, async (t) => {
    const directory = await directoryOf(t, { token: 'global', 'team.demo': 'own' });
    const readSecrets = createReadSecrets({ bearer: { file: join(directory, 'token') } });
    assert.deepEqual((await readSecrets(demo)).bearer, ['own']);
    await rm(join(directory, 'team.demo'));
    await untilRead();
    assert.deepEqual((await readSecrets(demo)).bearer, ['global']);
  });

  test("can't have a name that leads to another file", async (t) => {
    const directory = await directoryOf(t, { token: 'global', 'a.b': 'own' });
    const readSecrets = createReadSecrets({ bearer: { file: join(directory, 'token') } });
    for (const target of [
      { namespace: '', name: '/token' },
      { namespace: 'a.b', name: '' },
      { namespace: '..', name: 'x' },
    ]) {
      assert.deepEqual((await readSecrets(target)).bearer, ['global']);
    }
  });
});

test('a secret of white space only is configured, and accepts nothing', async () => {
  assert.deepEqual(await createReadSecrets({ hmac: { value: ' \n' } })(demo), { hmac: [], bearer: undefined });
});

suite('the work of a check', () => {
  const lengthsOf = (secrets: Awaited<ReturnType<ReturnType<typeof createReader>>>) => ({
    hmac: secrets.hmac?.map(({ text, standard }) => text.length <= 64 && standard.length <= 64),
    bearer: secrets.bearer?.map(({ length }) => length),
  });

  test('is the same for all resources, whatever secrets they have', async (t) => {
    const long = 'x'.repeat(200);
    const hmac = await directoryOf(t, { key: 'new\nold', 'team.demo': 'own', 'team.long': long, 'team.none': '' });
    const bearer = await directoryOf(t, { token: 'one', 'team.demo': `two\n${long}\nolder`, 'team.token': 'own' });
    const read = createReader({ hmac: { file: join(hmac, 'key') }, bearer: { file: join(bearer, 'token') } });
    for (const name of ['other', 'demo', 'long', 'none', 'token'])
      assert.deepEqual(
        lengthsOf(await read({ namespace: 'team', name })),
        { hmac: [true, true], bearer: [32, 32, 32] },
        name,
      );
  });

  test('is the same for a resource without a secret of a method, and if there is none at all', async (t) => {
    const hmac = await directoryOf(t, { 'team.demo': 'own' });
    const read = createReader({ hmac: { file: join(hmac, 'key') }, bearer: { value: 'global-token' } });
    for (const target of [demo, other])
      assert.deepEqual(lengthsOf(await read(target)), { hmac: [true], bearer: [32] }, target.name);
    const without = createReader({ hmac: { file: '/nowhere/at/all' } });
    assert.deepEqual(lengthsOf(await without(demo)), { hmac: [true], bearer: undefined });
  });
});
