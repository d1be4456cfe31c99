import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { isFor } from '../../../../controller/certificates/judge-certificate.ts';
import {
  bundleOf,
  renewCertificates,
  renewSelfSigned,
} from '../../../../controller/certificates/renew-certificates.ts';
import type { WebhookSecret } from '../../../../controller/certificates/webhook-secret.ts';
import { type ForeignKey, foreignAuthority, signedByForeign } from './foreign-certificates.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const start = Date.parse('2026-01-01T00:00:00Z');
const hosts = ['webhook.system.svc', '127.0.0.1'];

const first = renew(undefined, 0);

function renew(current: WebhookSecret | undefined, after: number, published = current ? bundleOf(current) : '') {
  return renewCertificates(current, { hosts, now: start + after, published });
}

/** What an API server that trusts the bundle makes of the serving certificate. */
function isTrusted(secret: WebhookSecret, bundle: string): boolean {
  const authorities = bundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return authorities.some((authority) => isFor(secret['tls.crt'], hosts, authority));
}

suite('self-made certificates', () => {
  test('are for the hosts, from the CA, and no other server', () => {
    assert.ok(isTrusted(first, bundleOf(first)));
    const serving = new X509Certificate(first['tls.crt']);
    assert.equal(serving.ca, false);
    assert.ok(new X509Certificate(first['ca.crt']).ca);
    assert.equal(serving.checkHost('other.system.svc'), undefined);
  });

  test('stay as they are while they are good', () => {
    assert.equal(renew(first, HOUR), first);
    assert.equal(renew(first, 59 * DAY), first);
  });

  test('are renewed by the same CA a month before they end', () => {
    const renewed = renew(first, 61 * DAY);
    assert.notEqual(renewed['tls.crt'], first['tls.crt']);
    assert.equal(renewed['ca.crt'], first['ca.crt']);
    assert.ok(isTrusted(renewed, bundleOf(first)));
  });

  test('are made anew for another host', () => {
    const moved = renewCertificates(first, { hosts: ['new.system.svc'], now: start, published: bundleOf(first) });
    assert.equal(new X509Certificate(moved['tls.crt']).checkHost('new.system.svc'), 'new.system.svc');
    assert.equal(moved['ca.crt'], first['ca.crt']);
  });

  test('are made anew where they do not fit together', () => {
    const stranger = renew(undefined, 0);
    const broken: [what: string, fields: Partial<WebhookSecret>, keepsAuthority: boolean][] = [
      ['a foreign key', { 'tls.key': stranger['tls.key'] }, true],
      ['a foreign certificate', { 'tls.crt': stranger['tls.crt'], 'tls.key': stranger['tls.key'] }, true],
      ['no certificate', { 'tls.crt': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }, true],
      ['a foreign CA key', { 'ca.key': stranger['ca.key'] }, false],
      ['no CA', { 'ca.crt': '-----BEGIN nonsense' }, false],
    ];
    for (const [what, fields, keepsAuthority] of broken) {
      const repaired = renew({ ...first, ...fields }, HOUR);
      assert.ok(isTrusted(repaired, bundleOf(repaired)), what);
      assert.equal(repaired['ca.crt'] === first['ca.crt'], keepsAuthority, what);
    }
  });
});

suite('certificates of a replica whose clock was ahead', () => {
  const ahead = 3_650 * DAY;

  test('are made anew, since no API server takes one that is not valid yet', () => {
    const early = renew(first, ahead);
    const repaired = renew(early, HOUR);
    const { 'ca.crt': authority, 'tls.crt': serving } = repaired;
    for (const pem of [authority, serving]) assert.ok(new X509Certificate(pem).validFromDate.getTime() <= start + HOUR);
    assert.ok(isTrusted(repaired, bundleOf(repaired)));
    assert.equal(renew(repaired, 2 * HOUR)['tls.crt'], serving);
  });

  test('are made anew by a CA that is valid already', () => {
    const early = renew(first, 70 * DAY);
    const repaired = renew(early, HOUR);
    assert.equal(repaired['ca.crt'], first['ca.crt']);
    assert.ok(new X509Certificate(repaired['tls.crt']).validFromDate.getTime() <= start + HOUR);
  });

  test('do not follow the CA that is in place', () => {
    const announced = renew(first, 300 * DAY);
    const later = renew(announced, 250 * DAY);
    assert.notEqual(later['next-ca.crt'], announced['next-ca.crt']);
    const switched = renew(later, 250 * DAY + 2 * HOUR);
    assert.equal(switched['ca.crt'], later['next-ca.crt']);
  });
});

suite('the CA', () => {
  test('is followed by the next one, which signs only when it has been published for an hour', () => {
    const late = 244 * DAY;
    const announced = renew(first, late);
    assert.equal(announced['ca.crt'], first['ca.crt']);
    assert.ok(announced['next-ca.crt']);
    assert.ok(bundleOf(announced).includes(announced['next-ca.crt'] ?? '-'));
    assert.equal(renew(announced, late + HOUR / 2)['ca.crt'], first['ca.crt'], 'not published for long');
    assert.equal(renew(announced, late + DAY, bundleOf(first))['ca.crt'], first['ca.crt'], 'not published at all');

    const switched = renew(announced, late + 2 * HOUR);
    assert.equal(switched['ca.crt'], announced['next-ca.crt']);
    assert.equal(switched['next-ca.crt'], undefined);
    assert.ok(isTrusted(switched, bundleOf(announced)), 'the API server trusted it before it was there');
    assert.ok(isTrusted(announced, bundleOf(switched)), 'a replica that has not looked yet is still trusted');

    const settled = renew(switched, late + 4 * HOUR);
    assert.equal(settled['previous-ca.crt'], undefined);
    assert.equal(settled['tls.crt'], switched['tls.crt']);
    assert.equal(renew(settled, late + DAY), settled);
  });

  test('that is made because the Secret is gone leaves the last one published for an hour', () => {
    const anew = renew(undefined, DAY, bundleOf(first));
    assert.notEqual(anew['ca.crt'], first['ca.crt']);
    assert.ok(isTrusted(first, bundleOf(anew)));
    assert.ok(isTrusted(anew, bundleOf(anew)));
    assert.ok(!isTrusted(first, bundleOf(renew(anew, DAY + 2 * HOUR))));
  });

  test('that has expired is not published again', () => {
    const anew = renew(first, 400 * DAY);
    assert.ok(!isTrusted(first, bundleOf(anew)));
    assert.ok(isTrusted(anew, bundleOf(anew)));
  });

  test('lives on for years without a gap in trust', () => {
    let [secret, published] = [first, bundleOf(first)];
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

suite('the Secret of an older release, whose keys are RSA', () => {
  /** As openssl makes it, from now on. */
  async function stored(t: TestContext, key: ForeignKey): Promise<WebhookSecret> {
    const authority = await foreignAuthority(t, key);
    const serving = await signedByForeign(t, { authority, key, hosts });
    return {
      'ca.crt': authority.certificate,
      'ca.key': authority.privateKey,
      'tls.crt': serving.certificate,
      'tls.key': serving.privateKey,
    };
  }
  const after = (secret: WebhookSecret, days: number) =>
    renewCertificates(secret, { hosts, now: Date.now() + days * DAY, published: bundleOf(secret) });

  for (const key of ['rsa', 'p384'] as const) {
    test(`stays as it is, then gets certificates of the same CA, then another CA (${key})`, async (t) => {
      const secret = await stored(t, key);
      assert.equal(after(secret, 0), secret);
      const renewed = after(secret, 61);
      assert.equal(renewed['ca.crt'], secret['ca.crt']);
      assert.notEqual(renewed['tls.crt'], secret['tls.crt']);
      assert.ok(isTrusted(renewed, bundleOf(secret)));
      const announced = after(renewed, 250);
      assert.ok(announced['next-ca.crt']);
      const switched = after(announced, 251);
      assert.equal(switched['ca.crt'], announced['next-ca.crt']);
      assert.ok(isTrusted(switched, bundleOf(announced)));
      assert.ok(isTrusted(announced, bundleOf(switched)));
    });
  }

  test('is replaced where its key cannot sign, and stays trusted for a while', async (t) => {
    const secret = await stored(t, 'ed25519');
    const replaced = after(secret, 1);
    assert.notEqual(replaced['ca.crt'], secret['ca.crt']);
    assert.ok(isTrusted(replaced, bundleOf(replaced)));
    assert.ok(isTrusted(secret, bundleOf(replaced)));
  });
});

test('a certificate without a CA stays for two thirds of its life', () => {
  const only = renewSelfSigned(undefined, hosts, start);
  assert.equal(renewSelfSigned(only, hosts, start + 59 * DAY), only);
  const renewed = renewSelfSigned(only, hosts, start + 61 * DAY);
  assert.notEqual(renewed.certificate, only.certificate);
  assert.equal(new X509Certificate(renewed.certificate).checkHost('webhook.system.svc'), 'webhook.system.svc');
});
