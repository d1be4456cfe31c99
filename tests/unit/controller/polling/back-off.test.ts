import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoff } from '../../../../controller/polling/back-off.ts';
import { TerminalError, TransientError } from '../../../../shared/errors.ts';

const HOUR_MS = 3_600_000;

test('credentials that were refused are tried again within a minute, however long they have been wrong', () => {
  for (const reason of ['AuthenticationFailed', 'RepositoryNotFound', 'SecretNotFound']) {
    const waitMs = backoff(new TerminalError('', { code: 'x', reason }), HOUR_MS);
    assert.ok(waitMs >= 45_000 && waitMs <= 60_000, `${reason}: ${waitMs}`);
  }
});

test('a host that has been unavailable for long is left alone for minutes', () => {
  assert.ok(backoff(new TransientError('', { code: 'x', reason: 'GitUnreachable' }), HOUR_MS) >= 225_000);
});
