import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { proxyEnvironment } from '../../../../controller/injection/sidecar.ts';

suite('the proxy of agents', () => {
  const cases: [name: string, given: Record<string, string>, expected: Record<string, string>][] = [
    ['none', { PATH: '/bin', HTTPS_PROXY: '' }, {}],
    [
      'in either spelling, the lower one first',
      {
        HTTPS_PROXY: 'http://upper:3128',
        https_proxy: 'http://lower:3128',
        HTTP_PROXY: 'http://p:80',
        NO_PROXY: '.svc',
      },
      { https_proxy: 'http://lower:3128', http_proxy: 'http://p:80', no_proxy: '.svc' },
    ],
    ['with a password', { HTTPS_PROXY: 'http://me:secret@proxy:3128', HTTP_PROXY: 'http://p:80' }, {}],
  ];
  for (const [name, given, expected] of cases) {
    test(`is ${name}`, () => assert.deepEqual(proxyEnvironment(given), expected));
  }
});
