import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidateSource } from '../../../../controller/injection/candidates.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { clientWith } from '../../../support/client-with.ts';

test('the API server gets at most three hundred queries at once, then sixty per second', () => {
  let now = 1_000_000;
  const source = candidateSource({ hasSynced: true, gatewaySyncs: () => [] }, {} as KubernetesClient, [], () => now);
  const ask = () => Array.from({ length: 1_000 }, () => source.mayQuery()).filter(Boolean).length;
  assert.equal(ask(), 300);
  now += 1_000;
  assert.equal(ask(), 60);
});

test('a cluster whose CRDs were deleted has no candidates', async () => {
  const refuse = async () => {
    throw new ApiError(404, '404 page not found');
  };
  const client = clientWith({ getAs: refuse, stream: refuse, request: refuse });
  const source = candidateSource({ hasSynced: false, gatewaySyncs: () => [] }, client, []);
  assert.deepEqual((await source.live('gateways', undefined)).candidates, []);
  assert.deepEqual((await source.live('gateways', 'app')).candidates, []);
});
