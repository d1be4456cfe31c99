import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidateSource } from '../../../../controller/injection/candidates.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';

/** Addresses that ask as often as they like; tells how often each was let. */
function arrange() {
  let now = 1_000_000;
  const source = candidateSource({ hasSynced: true, gatewaySyncs: () => [] }, {} as KubernetesClient, [], () => now);
  return {
    ask: (address: string, times: number) =>
      Array.from({ length: times }, () => source.mayAsk(address)).filter(Boolean).length,
    pass: (seconds: number) => {
      now += 1000 * seconds;
    },
  };
}

test('an address may have the API server asked a hundred times at once, then twenty times a second', () => {
  const { ask, pass } = arrange();
  assert.equal(ask('192.0.2.1', 3_000), 100);
  pass(1);
  assert.equal(ask('192.0.2.1', 3_000), 20);
  pass(60);
  assert.equal(ask('192.0.2.1', 3_000), 100);
});

test('one address leaves enough for another one, of IPv6 one network', () => {
  const { ask } = arrange();
  assert.equal(ask('192.0.2.1', 3_000), 100);
  assert.equal(ask('192.0.2.2', 50), 50);
  assert.equal(ask('2001:db8::1', 60) + ask('2001:db8::2', 60), 100);
});

test('all addresses together may have it asked three hundred times at once, then sixty times a second', () => {
  const { ask, pass } = arrange();
  const addresses = Array.from({ length: 200 }, (_, index) => `198.51.100.${index}`);
  const askAll = () => addresses.reduce((sum, address) => sum + ask(address, 20), 0);
  assert.equal(askAll(), 300);
  pass(1);
  assert.equal(askAll(), 60);
});

test('a cluster whose CRDs were deleted has no candidates', async () => {
  const refuse = async () => {
    throw new ApiError(404, '404 page not found');
  };
  const client = { get: refuse, stream: refuse, request: refuse, send: refuse } as unknown as KubernetesClient;
  const source = candidateSource({ hasSynced: false, gatewaySyncs: () => [] }, client, []);
  assert.deepEqual((await source.live('gateways', undefined)).candidates, []);
  assert.deepEqual((await source.live('gateways', 'app')).candidates, []);
});
