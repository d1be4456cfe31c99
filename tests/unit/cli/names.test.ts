import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gatewaysDo } from '../../../cli/fleet/names.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';

const withGateways = (total: number) => ({ status: { gateways: { total } } }) as GatewaySync;

suite('a sentence about the gateways of a resource', () => {
  const says = { one: 'keeps its files', many: 'keep their files', none: ' yet' };
  for (const [total, sentence] of [
    [0, 'it has no gateways yet'],
    [1, 'its gateway keeps its files'],
    [2, 'its 2 gateways keep their files'],
  ] as const)
    test(`is correct for ${total}`, () => assert.equal(gatewaysDo(withGateways(total), says), sentence));
});
