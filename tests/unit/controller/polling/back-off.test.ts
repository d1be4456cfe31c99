import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoff } from '../../../../controller/polling/back-off.ts';
import { TerminalError, TransientError } from '../../../../shared/errors.ts';

const HOUR_MS = 3_600_000;

/** Problems that a change of a Secret can fix, which the controller doesn't see: a token, a key, known_hosts, a CA. */
const ABOUT_A_SECRET = [
  ...['AuthenticationFailed', 'RepositoryNotFound', 'SecretNotFound', 'SecretTooLarge'],
  ...['HostKeyVerificationFailed', 'CertificateNotTrusted'],
] as const;

test('an error that another Secret can fix is retried within a minute, however long it lasts', () => {
  for (const reason of ABOUT_A_SECRET) {
    const waitMs = backoff(new TerminalError('', { code: 'x', reason }), HOUR_MS);
    assert.ok(waitMs >= 45_000 && waitMs <= 60_000, `${reason}: ${waitMs}`);
  }
});

test('a server that has been unavailable for long is queried every few minutes', () => {
  assert.ok(backoff(new TransientError('', { code: 'x', reason: 'GitUnreachable' }), HOUR_MS) >= 225_000);
});
