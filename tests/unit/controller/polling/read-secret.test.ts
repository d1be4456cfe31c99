import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readSecret } from '../../../../controller/polling/read-secret.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { clientWith } from '../../../support/client-with.ts';
import { codedError } from '../../../support/coded-error.ts';

/** Reads a Secret from an API server with this response. */
function readFrom(get: () => Promise<object>): Promise<string> {
  return readSecret(clientWith({ getAs: get }), 'plant', { name: 'git', key: 'token' });
}

const refuse = (status: number, reason: string) => () =>
  Promise.reject(new ApiError(status, JSON.stringify({ reason, message: 'words of the API server' })));

suite('a Secret with credentials', () => {
  test('is read by its key', async () => {
    assert.equal(await readFrom(async () => ({ data: { token: Buffer.from('täst').toString('base64') } })), 'täst');
  });

  for (const [what, get] of [
    ['is not there', refuse(404, 'NotFound')],
    ['may not be read', refuse(403, 'Forbidden')],
    ['has no such key', async () => ({ data: { other: '' } })],
  ] as const) {
    test(`that ${what} has to be fixed by a user`, async () => {
      const error = { name: 'TerminalError', reason: 'SecretNotFound', message: /plant\/git/ };
      await assert.rejects(readFrom(get), error);
    });
  }

  for (const [what, get] of [
    ['is busy', refuse(429, 'TooManyRequests')],
    ['cannot be reached', () => Promise.reject(codedError('ECONNREFUSED', 'connect'))],
  ] as const) {
    test(`is read again if the API server ${what}`, async () => {
      await assert.rejects(readFrom(get), { name: 'TransientError', reason: 'SecretUnavailable' });
    });
  }
});
