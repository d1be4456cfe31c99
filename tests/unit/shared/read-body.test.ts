import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { type Body, createReadBody } from '../../../shared/io/http/read-body.ts';
import { startHttpHost } from '../../support/http-host.ts';
import { until } from '../../support/until.ts';

const SIZE = 130_000;

/** A server whose bodies hold 400,000 bytes at most, and those of one address 200,000 where others need room. */
async function arrange(t: TestContext) {
  const limits = { maxBytes: 1_000_000, budgetBytes: 400_000, budgetBytesPerAddress: 200_000 };
  const readBody = createReadBody(limits);
  const outcomes: Record<string, Body['kind'][]> = {};
  let bytes = 0;
  const url = await startHttpHost(t, async (incoming, response) => {
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const { kind } = await readBody(incoming);
    outcomes[incoming.socket.remoteAddress ?? ''] ??= [];
    outcomes[incoming.socket.remoteAddress ?? '']?.push(kind);
    response.end(kind);
  });
  const { port } = new URL(url);
  /** Sends all but the last byte of a body. */
  const begin = (from: string, size: number): ClientRequest => {
    const options = { port, host: '127.0.0.1', localAddress: from, method: 'POST', agent: false };
    const sent = request({ ...options, headers: { 'content-length': size } }, (answer) => answer.resume());
    sent.on('error', () => {});
    sent.write(Buffer.alloc(size - 1));
    return sent;
  };
  const arrived = (count: number) => until(() => bytes >= count, { describe: `${count} bytes`, interval: 1 });
  return { begin, arrived, outcomes };
}

suite('the memory for request bodies', () => {
  test('can be used by one address while no other needs it', async (t) => {
    const { begin, arrived, outcomes } = await arrange(t);
    const sent = Array.from({ length: 4 }, () => begin('127.0.0.2', SIZE));
    await arrived(4 * (SIZE - 1));
    for (const each of sent) each.end('x');
    await until(() => outcomes['127.0.0.2']?.length === 4, { describe: 'four answers' });
    assert.deepEqual(outcomes, { '127.0.0.2': ['read', 'read', 'read', 'read'] });
  });

  test('is taken from an address with more than its share for one with less', async (t) => {
    const { begin, arrived, outcomes } = await arrange(t);
    const greedy = Array.from({ length: 4 }, () => begin('127.0.0.2', SIZE));
    await arrived(4 * (SIZE - 1));
    begin('127.0.0.1', SIZE).end('x');
    await until(() => outcomes['127.0.0.1'], { describe: 'an answer' });
    assert.deepEqual(outcomes, { '127.0.0.2': ['busy'], '127.0.0.1': ['read'] });
    for (const each of greedy) each.end('x');
    await until(() => outcomes['127.0.0.2']?.length === 4, { describe: 'the other answers' });
    assert.deepEqual(outcomes['127.0.0.2'], ['busy', 'read', 'read', 'read']);
  });
});
