import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { proxyFor } from '../../../cli/client/proxy.ts';

const PROXY = 'http://proxy.test:3128';
const find = (server: string, environment: Record<string, string>, proxyUrl?: string) =>
  proxyFor(new URL(server), proxyUrl, environment)?.href;

suite('the proxy to an API server', () => {
  // Rows of Go's own table: golang.org/x/net/http/httpproxy, proxy_test.go, and its documentation.
  const rows: [exceptions: string, server: string, isProxied: boolean][] = [
    ['', 'https://api.example.com', true],
    ['', 'https://localhost:6443', false],
    ['', 'https://127.0.0.1:6443', false],
    ['', 'https://[::1]:6443', false],
    ['', 'https://10.0.0.1:6443', true],
    ['*', 'https://api.example.com', false],
    ['other.test, *', 'https://api.example.com', false],
    ['example.com', 'https://api.example.com', false],
    ['example.com', 'https://anexample.com', true],
    ['.example.com', 'https://api.example.com', false],
    ['.example.com', 'https://example.com', true],
    ['*.example.com', 'https://api.example.com', false],
    ['example.com:6443', 'https://api.example.com:6443', false],
    ['example.com:443', 'https://api.example.com', false],
    ['10.0.0.0/8', 'https://10.1.2.3:6443', false],
    ['10.0.0.0/8', 'https://11.1.2.3:6443', true],
    ['10.0.0.0/99', 'https://10.1.2.3:6443', true],
    ['10.1.2.3:443', 'https://10.1.2.3:6443', true],
    ['fd00::/8', 'https://[fd00::1]:6443', false],
    ['[fd00::1]:6443', 'https://[fd00::1]:6443', false],
    ['[fd00::1]:1', 'https://[fd00::1]:6443', true],
    [' , ,', 'https://api.example.com', true],
    ['example.com:', 'https://api.example.com:6443', false],
    ['.2.3', 'https://10.1.2.3:6443', true],
    ['bücher.example', 'https://xn--bcher-kva.example', false],
    ['10.0.0.0/8', 'https://[::ffff:10.1.2.3]:6443', false],
    ['', 'https://[::ffff:127.0.0.1]:6443', false],
  ];
  for (const [exceptions, server, isProxied] of rows) {
    test(`${isProxied ? 'is' : 'is not'} used for ${server} with NO_PROXY=${exceptions}`, () => {
      const expected = isProxied ? `${PROXY}/` : undefined;
      assert.equal(find(server, { HTTPS_PROXY: PROXY, NO_PROXY: exceptions }), expected);
    });
  }

  test('comes from the kubeconfig, even if the environment has another one', () => {
    const environment = { HTTPS_PROXY: 'http://other.test', NO_PROXY: '*' };
    assert.equal(find('https://127.0.0.1:6443', environment, PROXY), `${PROXY}/`);
  });

  test("is chosen by the server's protocol, first from upper-case variables, and can lack a scheme", () => {
    const environment = { HTTPS_PROXY: 'up.test:1', https_proxy: 'http://low.test', http_proxy: 'http://plain.test' };
    assert.equal(find('https://api.test', environment), 'http://up.test:1/');
    assert.equal(find('http://api.test', environment), 'http://plain.test/');
  });

  test("is rejected without its password if its protocol isn't supported", () => {
    const invalid = (message: RegExp) => ({ code: 'KubeconfigInvalid', message });
    const socks = () => find('https://api.test', {}, 'socks5://user:hunter2@proxy.test');
    assert.throws(socks, invalid(/^(?!.*hunter2).* proxy-url .* socks5\b/));
    const noUrl = () => find('https://api.test', { HTTPS_PROXY: 'http://[hunter2' });
    assert.throws(noUrl, invalid(/^HTTPS_PROXY (?!.*hunter2)/));
  });
});
