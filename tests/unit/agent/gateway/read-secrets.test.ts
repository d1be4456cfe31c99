import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readSecretFile } from '../../../../agent/gateway/read-secrets.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('a Secret is used without the line feeds at its end, and with its spaces', async (t) => {
  const file = path.join(await temporaryDirectory(t, 'secrets-'), 'key');
  const read = async (text: string) => {
    await writeFile(file, text);
    return await readSecretFile(file, 'the key');
  };
  for (const end of ['', '\n', '\r\n', '\n\n']) assert.equal(await read(` a b\u00a0 ${end}`), ' a b\u00a0 ');
  for (const text of ['', '\n', ' \n', 'a\nb', '\na']) {
    await assert.rejects(read(text), { code: 'gateway.credentials' }, JSON.stringify(text));
  }
});
