import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, test } from 'node:test';
import { isFor } from '../../../../controller/certificates/judge-certificate.ts';
import {
  bundleOf,
  renewCertificates,
  renewSelfSigned,
} from '../../../../controller/certificates/renew-certificates.ts';
import type { WebhookSecret } from '../../../../controller/certificates/webhook-secret.ts';
import { slow } from '../../../support/depth.ts';
import { foreignAuthority } from './foreign-certificates.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const start = Date.parse('2026-01-01T00:00:00Z');
const hosts = ['webhook.system.svc', '127.0.0.1'];

const first = renew(undefined, 0);

function renew(current: WebhookSecret | undefined, after: number, published = current ? bundleOf(current) : '') {
  return renewCertificates(current, { hosts, now: start + after, published });
}

/** Whether an API server with this bundle trusts the serving certificate. */
function isTrusted(secret: WebhookSecret, bundle: string): boolean {
  const authorities = bundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return authorities.some((authority) => isFor(secret['tls.crt'], hosts, authority));
}

suite('self-signed certificates', () => {
  test('are valid for the host names, from the CA, and for no other server', () => {
    assert.ok(isTrusted(first, bundleOf(first)));
    const serving = new X509Certificate(first['tls.crt']);
    assert.equal(serving.ca, false);
    assert.ok(new X509Certificate(first['ca.crt']).ca);
    assert.equal(serving.checkHost('other.system.svc'), undefined);
  });

  test('stay unchanged while they are valid', () => {
    assert.equal(renew(first, HOUR), first);
    assert.equal(renew(first, 59 * DAY), first);
  });

  test('are renewed by the same CA a month before they expire', () => {
    const renewed = renew(first, 61 * DAY);
    assert.notEqual(renewed['tls.crt'], first['tls.crt']);
    assert.equal(renewed['ca.crt'], first['ca.crt']);
    assert.ok(isTrusted(renewed, bundleOf(first)));
  });

  test('are recreated for another host', () => {
    const moved = renewCertificates(first, { hosts: ['new.system.svc'], now: start, published: bundleOf(first) });
    assert.equal(new X509Certificate(moved['tls.crt']).checkHost('new.system.svc'), 'new.system.svc');
    assert.equal(moved['ca.crt'], first['ca.crt']);
  });

  test("are recreated if they don't match", () => {
    const foreign = renew(undefined, 0);
    const broken: [what: string, fields: Partial<WebhookSecret>, keepsAuthority: boolean][] = [
      ['a foreign key', { 'tls.key': foreign['tls.key'] }, true],
      ['a foreign certificate', { 'tls.crt': foreign['tls.crt'], 'tls.key': foreign['tls.key'] }, true],
      ['no certificate', { 'tls.crt': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }, true],
      ['a foreign CA key', { 'ca.key': foreign['ca.key'] }, false],
      ['no CA', { 'ca.crt': '-----BEGIN nonsense' }, false],
    ];
    for (const [what, fields, keepsAuthority] of broken) {
      const repaired = renew({ ...first, ...fields }, HOUR);
      assert.ok(isTrusted(repaired, bundleOf(repaired)), what);
      assert.equal(repaired['ca.crt'] === first['ca.crt'], keepsAuthority, what);
    }
  });
});

suite('certificates from a replica with a fast clock', () => {
  const ahead = 3_650 * DAY;

  test("are recreated, because no API server accepts one that isn't valid yet", () => {
    const early = renew(first, ahead);
    const repaired = renew(early, HOUR);
    const { 'ca.crt': authority, 'tls.crt': serving } = repaired;
    for (const pem of [authority, serving]) assert.ok(new X509Certificate(pem).validFromDate.getTime() <= start + HOUR);
    assert.ok(isTrusted(repaired, bundleOf(repaired)));
    assert.equal(renew(repaired, 2 * HOUR)['tls.crt'], serving);
  });
});

suite('the CA', () => {
  test('is published for an hour before it signs, next to the one that it replaces', () => {
    const late = 244 * DAY;
    const served = renew(first, late - DAY);
    const announced = renew(served, late);
    assert.notEqual(announced['ca.crt'], served['ca.crt']);
    assert.equal(announced['tls.crt'], served['tls.crt']);
    assert.ok(isTrusted(announced, bundleOf(announced)));
    assert.equal(renew(announced, late + HOUR / 2), announced, 'not published for long');

    const switched = renew(announced, late + 2 * HOUR);
    assert.ok(isTrusted(switched, switched['ca.crt']));
    assert.ok(isTrusted(switched, bundleOf(announced)), 'the API server trusted it before it was there');
    assert.ok(isTrusted(announced, bundleOf(switched)), 'a replica that has not looked yet is still trusted');

    const settled = renew(switched, late + 4 * HOUR);
    assert.equal(settled['previous-ca.crt'], undefined);
    assert.equal(settled['tls.crt'], switched['tls.crt']);
    assert.equal(renew(settled, late + DAY), settled);
  });

  test('that is made because the Secret is gone leaves the last one published for an hour', () => {
    const renewed = renew(undefined, DAY, bundleOf(first));
    assert.notEqual(renewed['ca.crt'], first['ca.crt']);
    assert.ok(isTrusted(first, bundleOf(renewed)));
    assert.ok(isTrusted(renewed, bundleOf(renewed)));
    assert.ok(!isTrusted(first, bundleOf(renew(renewed, DAY + 2 * HOUR))));
  });

  test('is no longer published once it has expired', () => {
    const renewed = renew(first, 400 * DAY);
    assert.ok(!isTrusted(first, bundleOf(renewed)));
    assert.ok(isTrusted(renewed, bundleOf(renewed)));
  });

  test('is replaced over the years without a gap in trust', slow, () => {
    let secret = first;
    let published = bundleOf(first);
    for (let after = 0; after < 1_500 * DAY; after += 5 * DAY) {
      for (const later of [0, 2 * HOUR, 4 * HOUR]) {
        const next = renew(secret, after + later, published);
        assert.ok(isTrusted(next, published), `day ${after / DAY}: served before it was published`);
        published = bundleOf(next);
        assert.ok(isTrusted(secret, published), `day ${after / DAY}: withdrawn while it was served`);
        secret = next;
      }
    }
    assert.notEqual(secret['ca.crt'], first['ca.crt']);
  });
});

test('a CA that the controller did not make is replaced, and stays trusted for a while', async (t) => {
  const authority = await foreignAuthority(t, 'p256');
  const foreign = { ...first, 'ca.crt': authority.certificate, 'ca.key': authority.privateKey };
  const now = Date.now();
  const replaced = renewCertificates(foreign, { hosts, now, published: bundleOf(foreign) });
  assert.ok(isFor(replaced['tls.crt'], hosts, replaced['ca.crt']));
  assert.ok(bundleOf(replaced).includes(authority.certificate.trim()));
});

test('a certificate without a CA is kept for two thirds of its life', () => {
  const only = renewSelfSigned(undefined, hosts, start);
  assert.equal(renewSelfSigned(only, hosts, start + 59 * DAY), only);
  const renewed = renewSelfSigned(only, hosts, start + 61 * DAY);
  assert.notEqual(renewed.certificate, only.certificate);
  assert.equal(new X509Certificate(renewed.certificate).checkHost('webhook.system.svc'), 'webhook.system.svc');
});
