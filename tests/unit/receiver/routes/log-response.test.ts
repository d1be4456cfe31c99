import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused } from '../../../../receiver/outcome.ts';
import { createLogResponse } from '../../../../receiver/routes/log-response.ts';
import type { HandledRequest } from '../../../../receiver/routes/respond.ts';
import { createLogger } from '../../../../shared/log.ts';

const secrets = {
  authorization: 'Bearer s3cret',
  'x-hub-signature-256': 'sha256=s3cret',
  'x-gitlab-token': 's3cret',
  'webhook-signature': 'v1,s3cret',
  cookie: 's3cret',
  'x-forwarded-for': 's3cret',
};
const record: HandledRequest = {
  requestId: 'id-1',
  resource: { namespace: 'team', name: 'demo' },
  headers: { ...secrets, 'x-github-event': 'push', 'x-github-delivery': 'd'.repeat(500) },
  outcome: { kind: 'stored', ref: 'v1', source: 'github', superseded: false },
  seconds: 0.0123,
};
const outsider: HandledRequest = { ...record, requestId: undefined, outcome: refused('Unauthorized') };

/** The lines that these records make. */
function linesOf(records: HandledRequest[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('test', { level: 'silent' });
  log.info = (fields: unknown) => void lines.push(JSON.parse(JSON.stringify(fields)));
  const logAnswer = createLogResponse(log);
  for (const each of records) logAnswer(each);
  return lines;
}

test('a log line contains the outcome of a delivery and its allowed headers, in a limited length', () => {
  const [line] = linesOf([record]);
  assert.deepEqual(line, {
    requestId: 'id-1',
    namespace: 'team',
    name: 'demo',
    source: 'github',
    outcome: 'stored',
    reason: '',
    ref: 'v1',
    durationMs: 12,
    headers: { 'x-github-event': 'push', 'x-github-delivery': 'd'.repeat(100) },
  });
});

test('a log line contains neither credentials nor an unknown path', () => {
  const basic = { ...record, headers: { authorization: `Basic ${btoa('hook:s3cret')}` } };
  assert.doesNotMatch(JSON.stringify(linesOf([basic])), /Basic|s3cret/);
  const odd = { ...record, resource: { namespace: 's3cret path', name: '' } };
  assert.ok(!JSON.stringify(linesOf([record, odd, outsider])).includes('s3cret'));
});

test('a flood of unauthenticated requests causes no flood of log lines, and hides no others', () => {
  const lines = linesOf([...Array<HandledRequest>(1000).fill(outsider), record]);
  assert.ok(lines.length >= 11 && lines.length <= 21, `${lines.length} lines`);
  assert.equal(lines.at(-1)?.requestId, 'id-1');
});

test('a log line contains no terminal control characters', () => {
  const headers = { 'user-agent': 'a\u009b31mred\u001b[0m\u007f\u00e9' };
  const outcome = { ...record.outcome, senderReason: 'b\u009d0;x\u202e\u2028' } as HandledRequest['outcome'];
  const lines: string[] = [];
  const log = createLogger('test', { level: 'info', write: (line) => void lines.push(line) });
  createLogResponse(log)({ ...record, headers, outcome });
  assert.match(lines.join(), /"a\\u009b31mred\\u001b\[0m\\u007fé".*|"b\\u009d0;x\\u202e\\u2028"/);
  assert.doesNotMatch(lines.join().trimEnd(), /[\p{Cc}\p{Bidi_Control}\u2028]/u);
});
