import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connectionErrorOf, gitErrorOf } from '../../../shared/io/git/git-error.ts';
import { assertLinear } from '../../support/assert-linear.ts';

suite('an error of git', () => {
  const cases: [stderr: string, code: string][] = [
    ["fatal: transport 'file' not allowed", 'git.transport'],
    ["fatal: protocol 'foo' is not supported", 'git.transport'],
    ["fatal: repository 'https://git.test/a.git/' not found", 'git.repositoryNotFound'],
    ['remote: whatever', 'git.unreachable'],
    ['ssh: Could not resolve hostname git.test: Name or service not known', 'git.unknownName'],
    ["fatal: unable to access 'https://git.test/': Could not resolve host: git.test", 'git.unknownName'],
    ['ssh: connect to host git.test port 22: Connection refused', 'git.refused'],
    ['ssh: connect to host git.test port 22: Connection timed out', 'git.noConnection'],
    ['fatal: the remote end hung up unexpectedly', 'git.brokeOff'],
    ['error: RPC failed; The requested URL returned error: 503', 'git.http503'],
  ];
  for (const [stderr, code] of cases) {
    test(`${stderr} is ${code}`, () => assert.equal(gitErrorOf(stderr).code, code));
  }

  for (const words of [
    "transport '",
    "protocol '",
    'repository ',
    'repository not',
    'access denied or',
    'could not read ',
  ]) {
    test(`is told in time in proportion to what a host says: ${words}…`, () => {
      assertLinear(20_000, (size) => words.repeat(size / words.length), gitErrorOf);
    });
  }
});

suite('a host that does not answer', () => {
  const cases: [fields: { code?: string; syscall?: string }, code: string, words: RegExp][] = [
    [{ code: 'ENOTFOUND', syscall: 'queryA' }, 'git.unknownName', /the name of the git host is not known/],
    [{ code: 'ETIMEOUT', syscall: 'queryA' }, 'git.noNameServer', /name servers/],
    [{ code: 'ECONNREFUSED', syscall: 'queryA' }, 'git.noNameServer', /name servers/],
    [{ code: 'ECONNREFUSED', syscall: 'connect' }, 'git.refused', /refuses the connection/],
    [{ code: 'ETIMEDOUT' }, 'git.noConnection', /no connection .* in time/],
    [{ code: 'EHOSTUNREACH' }, 'git.noRoute', /no route/],
    [{ code: 'ECONNRESET' }, 'git.brokeOff', /broke off/],
    [{ code: 'EPROTO' }, 'git.noTls', /TLS/],
    [{ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, 'git.noTls', /TLS/],
    [{}, 'git.unreachable', /cannot be reached/],
  ];
  for (const [fields, code, words] of cases) {
    test(`by ${JSON.stringify(fields)} is told in words of ours`, () => {
      const error = connectionErrorOf(Object.assign(new Error('words of somebody else'), fields));
      assert.deepEqual([error.code, error.reason, error.name], [code, 'GitUnreachable', 'TransientError']);
      assert.match(error.message, words);
      assert.doesNotMatch(error.message, /somebody/);
    });
  }

  test('has a certificate that is not trusted', () => {
    for (const code of ['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'])
      assert.equal(connectionErrorOf(Object.assign(new Error(), { code })).reason, 'CertificateNotTrusted');
  });
});
