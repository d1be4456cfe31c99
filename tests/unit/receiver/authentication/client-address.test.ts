import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { clientAddress } from '../../../../receiver/authentication/client-address.ts';

const cases: [string, string, string | undefined, number, string][] = [
  ['the other end of the connection', '10.0.0.1', undefined, 0, '10.0.0.1'],
  ['the one that the trusted proxy appended', '10.0.0.1', '6.6.6.6, 1.2.3.4', 1, '1.2.3.4'],
  ['the one that the outer of two trusted proxies appended', '10.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.9', 2, '1.2.3.4'],
  ['the first of a list that is shorter than the hops', '10.0.0.1', '1.2.3.4', 3, '1.2.3.4'],
  ['the other end if the proxy sends no header', '10.0.0.1', undefined, 1, '10.0.0.1'],
  ['the first of a list that is as long as the hops', '10.0.0.1', '1.2.3.4, 10.0.0.9', 2, '1.2.3.4'],
  ['a bracketed address without a port', '::1', '[2001:db8:1:2::1]', 1, '2001:db8:1:2::/64'],
  ['an IPv6 address that ends like a port', '::1', '2001:db8:1:2::443', 1, '2001:db8:1:2::/64'],
  ['an address without its port', '10.0.0.1', '1.2.3.4:5678', 1, '1.2.3.4'],
  ['an IPv4 address that is written as IPv6', '::ffff:1.2.3.4', undefined, 0, '1.2.3.4'],
  ['an IPv4 address that is written as IPv6 in hexadecimal digits', '10.0.0.1', '::FFFF:102:304', 1, '1.2.3.4'],
  ['an IPv4 address that is written as full IPv6 with its port', '::1', '[0:0:0:0:0:ffff:1.2.3.4]:80', 1, '1.2.3.4'],
  ['the IPv4 address behind NAT64', '64:ff9b::1.2.3.4', undefined, 0, '1.2.3.4'],
  ['the network of an address that only resembles NAT64', '64:ff9b:1::102:304', undefined, 0, '64:ff9b:1:0::/64'],
  ['the same network for another address in it', '2001:DB8:1:2::1', undefined, 0, '2001:db8:1:2::/64'],
  ['the network of a bracketed address', '::1', '[2001:db8:1:2::1]:443', 1, '2001:db8:1:2::/64'],
  ['the network of the loopback address', '::1', undefined, 0, '0:0:0:0::/64'],
];

suite('the address of a client', () => {
  for (const [name, remoteAddress, forwardedFor, trustedHops, expected] of cases) {
    test(`is ${name}`, () => assert.equal(clientAddress({ remoteAddress, forwardedFor, trustedHops }), expected));
  }

  test('has a limited length for any header', () => {
    for (const reported of ['x'.repeat(10_000), ':'.repeat(10_000), '1:'.repeat(5000), `[${'a'.repeat(9000)}`]) {
      assert.ok(clientAddress({ remoteAddress: '::1', forwardedFor: reported, trustedHops: 1 }).length <= 64);
    }
    assert.equal(clientAddress({ remoteAddress: undefined, forwardedFor: undefined, trustedHops: 0 }), '');
  });
});
