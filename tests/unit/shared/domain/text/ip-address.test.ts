import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { networkOf, parseAddress } from '../../../../../shared/domain/text/ip-address.ts';
import { fc } from '../../../../support/property.ts';

test("the bytes of an IP address don't depend on its notation", () => {
  for (const [address, bytes] of [
    ['10.0.0.255', '0a0000ff'],
    ['::', '00'.repeat(16)],
    ['::1', `${'00'.repeat(15)}01`],
    ['FD00::A:0001', 'fd0000000000000000000000000a0001'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['::ffff:1.2.3.4', '00000000000000000000ffff01020304'],
    ['fe80::1%eth0', `fe80${'00'.repeat(13)}01`],
  ] as const)
    assert.equal(Buffer.from(parseAddress(address)?.toByteArray() ?? []).toString('hex'), bytes, address);
});

test("text that isn't an IP address is rejected", () => {
  for (const text of [
    '',
    'localhost',
    '1.2.3',
    '256.1.1.1',
    '0x7f000001',
    ':',
    '1::2::3',
    '1:2:3:4:5:6:7:8:9',
    '1'.repeat(300),
  ])
    assert.equal(parseAddress(text), undefined, text);
});

suite('the network that counts as one client', () => {
  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:db8::2:3:4:5:6', '2001:db8:0:2::/64'],
    ['2001::1:2:3:4:5:6:7', '2001::1:2:3:4:5:6:7'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
    ['x'.repeat(100), 'x'.repeat(64)],
  ] as const) {
    test(`is ${network.slice(0, 30)} for ${address.slice(0, 30)}`, () => assert.equal(networkOf(address), network));
  }

  test('never has a long name', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...':.f0%x'), maxLength: 300 }), (address) => {
        assert.ok(networkOf(address).length <= 64 + '::/64'.length);
      }),
    );
  });
});
