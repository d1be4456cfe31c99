import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TerminalError } from '../../../shared/errors.ts';
import { gitEnvironment, sshCommand } from '../../../shared/io/git/git-environment.ts';
import { connectionErrorOf, gitErrorOf, withoutCredentials } from '../../../shared/io/git/git-error.ts';
import { assertLinear } from '../../support/assert-linear.ts';
import { codedError } from '../../support/coded-error.ts';

test("an error of git keeps git's last output, even behind the banner of an ssh server", () => {
  const { cause } = gitErrorOf(
    `${'Authorized use only.\n'.repeat(100)}warning: lazy fetching disabled\nfatal: it ended\n`,
  );
  const { message } = cause as Error;
  assert.match(message, /^Authorized use only\..*warning: lazy fetching disabled\nfatal: it ended\n?$/s);
  assert.ok(message.length < 700);
});

/** What git prints behind what a server says over SSH. */
const COULD_NOT_READ =
  'fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n';

suite("an SSH server that doesn't serve a repository", () => {
  for (const [server, words, reason] of [
    ['GitHub', 'ERROR: Repository not found.', 'RepositoryNotFound'],
    ['GitLab', 'remote: ERROR: The project you were looking for could not be found or …', 'RepositoryNotFound'],
    ['Gitea', 'Gitea: Repository does not exist\nCannot find repository: a/b', 'RepositoryNotFound'],
    ['Forgejo', 'Forgejo: Cannot find repository: a/b', 'RepositoryNotFound'],
    ['Azure DevOps', 'remote: TF401019: The Git repository with name b does not exist or …', 'RepositoryNotFound'],
    ['Gerrit', 'fatal: project a/b not found', 'RepositoryNotFound'],
    ['Gitolite', 'FATAL: R any b user DENIED by fallthru\n(or you mis-spelled the reponame)', 'RepositoryNotFound'],
    ['GitLab, for a deploy key', 'remote: ERROR: You are not allowed to download code.', 'AuthenticationFailed'],
    ['GitHub with SAML', "ERROR: The 'a' organization has enabled or enforced SAML SSO.", 'AuthenticationFailed'],
    ['Bitbucket Cloud, for another key', 'Repository access denied.', 'AuthenticationFailed'],
    ['OpenSSH', 'Received disconnect from ::1 port 22:2: Too many authentication failures', 'AuthenticationFailed'],
    ['a server with another problem', 'remote: ERROR: Internal API unreachable', 'GitUnreachable'],
    ['a server that is none', 'kex_exchange_identification: banner line contains invalid characters', 'GitUnreachable'],
  ] as const)
    test(`is recognized: ${server}`, () => {
      assert.equal(gitErrorOf(`${words}\n${COULD_NOT_READ}`, { credentials: 'sshKey' }).reason, reason);
    });

  test('is distinguished from one that known_hosts lacks', () => {
    const printed = 'No ED25519 host key is known for [::1]:2222 and you have requested strict checking.\r\n';
    const { message, reason } = gitErrorOf(`${printed}Host key verification failed.\r\n${COULD_NOT_READ}`);
    assert.equal(reason, 'HostKeyVerificationFailed');
    assert.match(message, /known_hosts/);
  });
});

suite('the code of a git error', () => {
  const access = (words: string) => `fatal: unable to access 'https://git.test/': ${words}`;
  const cases: [stderr: string, ...meaning: string[]][] = [
    ['fatal: cannot write: No space left on device', 'git.noSpace', 'CloneUnusable'],
    ['fatal: write error (Disk quota exceeded)', 'git.noSpace', 'CloneUnusable'],
    ["fatal: Authentication failed for 'https://git.test/a.git/'", 'git.authentication', 'AuthenticationFailed'],
    ['remote: HTTP Basic: Access denied', 'git.authentication', 'AuthenticationFailed'],
    ['error: The requested URL returned error: 403', 'git.authentication', 'AuthenticationFailed'],
    ['git@git.test: Permission denied (publickey).', 'git.authentication', 'AuthenticationFailed'],
    ['Host key verification failed.\r\nfatal: x', 'git.hostKey', 'HostKeyVerificationFailed'],
    ['fatal: remote error: upload-pack: not our ref 0123', 'git.refNotFound', 'RefNotFound'],
    ["fatal: couldn't find remote ref refs/heads/x", 'git.refNotFound', 'RefNotFound'],
    ["fatal: repository 'https://git.test/a.git/' not found", 'git.repositoryNotFound', 'RepositoryNotFound'],
    ['remote: ERROR: access denied or repository not exported: /x', 'git.repositoryNotFound', 'RepositoryNotFound'],
    ['error: The requested URL returned error: 301', 'git.redirect', 'UnexpectedRedirect'],
    ['error: RPC failed; HTTP 302 curl 22 The requested URL returned error: 302', 'git.redirect', 'UnexpectedRedirect'],
    ['fatal: fsck error in packed object', 'git.unsafeObject', 'UnsafeContent'],
    [access('server certificate verification failed. CAfile: none'), 'git.certificate', 'CertificateNotTrusted'],
    // As curl 8.23 has it.
    [access('server verification failed: certificate signer not trusted.'), 'git.certificate', 'CertificateNotTrusted'],
    [
      `warning: filtering not recognized by server, ignoring\n${access('SSL: no match')}`,
      ...['git.certificate', 'CertificateNotTrusted'],
    ],
    ["fatal: transport 'file' not allowed", 'git.transport', 'TransportNotAllowed'],
    ["fatal: protocol 'foo' is not supported", 'git.transport', 'TransportNotAllowed'],
    ['remote: whatever', 'git.unreachable'],
    ['ssh: Could not resolve hostname git.test: Name or service not known', 'git.unknownName'],
    [access('Could not resolve host: git.test'), 'git.unknownName'],
    ['fatal: unable to look up git.test (port 9418)', 'git.unknownName'],
    ['ssh: git.test: Temporary failure in name resolution', 'git.noNameServer'],
    ['ssh: connect to host git.test port 22: Connection refused', 'git.refused'],
    ['ssh: connect to host git.test port 22: Connection timed out', 'git.noConnection'],
    ['ssh: connect to host git.test port 22: No route to host', 'git.noRoute'],
    ['git.test[0: ::1]: errno=Cannot assign requested address', 'git.noRoute'],
    [access('TLS connect error: wrong version number'), 'git.noTls'],
    [access('error:0A000102:SSL routines::unsupported protocol'), 'git.noTls'],
    [access('GnuTLS recv error (-110): The TLS connection was non-properly terminated.'), 'git.brokeOff'],
    [access('gnutls_handshake() failed: An unexpected TLS packet was received.'), 'git.noTls'],
    [access('GnuTLS, handshake failed: An unexpected TLS packet was received.'), 'git.noTls'],
    ...[
      'CONNECT tunnel failed, response 407',
      'Received HTTP code 503 from proxy after CONNECT',
      'Proxy CONNECT aborted',
      'Could not resolve proxy: proxy.invalid',
      'The requested URL returned error: 407',
    ].map((words): [stderr: string, code: string] => [access(words), 'git.proxy']),
    ['error: RPC failed; HTTP 429 curl 22 The requested URL returned error: 429', 'git.http429'],
    ['error: RPC failed; The requested URL returned error: 503', 'git.http503'],
    [access('OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 0'), 'git.unreachable'],
    [access('SSL connection timed out'), 'git.noConnection'],
    ['error: RPC failed; curl 56 GnuTLS recv error (-54): Error in the pull function.', 'git.unreachable'],
    ['fatal: the remote end hung up unexpectedly', 'git.brokeOff'],
    ['fatal: early EOF', 'git.brokeOff'],
    ['Connection closed by 192.0.2.1 port 22', 'git.brokeOff'],
    // If a connection ends, git counts the missing bytes.
    [
      'error: RPC failed; curl 18 transfer closed\nerror: 404 bytes of body are still expected\nfatal: early EOF',
      'git.brokeOff',
    ],
  ];
  for (const [stderr, code, reason = 'GitUnreachable'] of cases) {
    test(`${stderr} is ${code}`, () => {
      const error = gitErrorOf(stderr);
      assert.deepEqual([error.code, error.reason], [code, reason]);
      assert.equal(error.name, reason === 'GitUnreachable' ? 'TransientError' : 'TerminalError');
    });
  }

  const ofHosts = [
    ...['Host key verification failed.', 'No space left on device', 'certificate'].map((words) => `remote: ${words}`),
    'fatal: remote error: x\nfsck error\nSSL',
    "fatal: invalid server response; got 'x\nNo space left on device\n'",
    "fatal: expected 'packfile', received 'x\nHost key verification failed'",
    'fatal: malformed response in ref list: x: No space left on device',
    'remote: x\nHost key verification failed.',
    "remote: x\nfatal: unable to access 'x': SSL",
    'remote: x\nfatal: write error: No space left on device',
    'remote: x\nfatal: fsck error in packed object\nfatal: early EOF',
    "remote: x\nfatal: transport 'x' not allowed",
    'remote: x\nerror: 301',
    ...['\r', '\u2028', '\u2029'].flatMap((end) => [
      `remote: x${end}Host key verification failed.\n`,
      `fatal: expected 'packfile', received 'x${end}fatal: unable to access 'x': SSL certificate problem: x\n`,
    ]),
  ];
  for (const words of ofHosts)
    test(`isn't taken from the text of a server: ${JSON.stringify(words)}`, () => {
      assert.equal(gitErrorOf(words).code, 'git.unreachable');
    });

  test('comes with the failed check of an object, and no more of its text', () => {
    const { message } = gitErrorOf(
      `error: object ${'a'.repeat(40)}: zeroPaddedFilemode: contains words\nfatal: fsck error in packed object\n`,
    );
    assert.match(message, /\(zeroPaddedFilemode\)$/);
  });

  test("comes with the cause, or the beginning and end of git's output", () => {
    const cause = new Error('caught');
    assert.equal(gitErrorOf('x', { cause }).cause, cause);
    assert.equal(gitErrorOf('SSL', { cause }).cause, cause);
    const text = 'SSL'.repeat(300);
    assert.equal((gitErrorOf(text).cause as Error).message, `${text.slice(0, 300)} … ${text.slice(-300)}`);
  });

  for (const words of [
    ...["transport '", 'repository ', 'repository not', 'access denied or', 'could not read ', 'fatal: '],
    ...["fatal: x got '", "fatal: unable to access '", 'fatal: unable to write: ', 'fatal: unable to write\n'],
    ...[`error: object ${'a'.repeat(40)}: a: \n`, 'remote: x\n'],
  ]) {
    test(`is found in time proportional to the server's output: ${words}…`, () => {
      assertLinear(20_000, (size) => words.repeat(size / words.length), gitErrorOf);
    });
  }
});

suite('a git server that fails to answer', () => {
  const cases: [fields: { code?: string; syscall?: string }, code: string][] = [
    [{ code: 'ENOTFOUND' }, 'git.unknownName'],
    [{ code: 'ENODATA' }, 'git.unknownName'],
    [{ code: 'ETIMEOUT', syscall: 'queryA' }, 'git.noNameServer'],
    [{ code: 'ECONNREFUSED', syscall: 'queryA' }, 'git.noNameServer'],
    [{ code: 'EAI_AGAIN' }, 'git.noNameServer'],
    [{ code: 'ESERVFAIL' }, 'git.noNameServer'],
    [{ code: 'ECONNREFUSED', syscall: 'connect' }, 'git.refused'],
    [{ code: 'ETIMEDOUT' }, 'git.noConnection'],
    [{ code: 'ERR_SOCKET_CONNECTION_TIMEOUT' }, 'git.noConnection'],
    [{ code: 'EHOSTUNREACH' }, 'git.noRoute'],
    [{ code: 'EADDRNOTAVAIL' }, 'git.noRoute'],
    [{ code: 'EPIPE' }, 'git.brokeOff'],
    [{ code: 'ECONNRESET' }, 'git.brokeOff'],
    [{ code: 'EPROTO' }, 'git.noTls'],
    [{ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, 'git.noTls'],
    [{ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }, 'git.noTls'],
    [{ code: 'ERR_PROXY_TUNNEL' }, 'git.proxy'],
    [{}, 'git.unreachable'],
  ];
  for (const [fields, code] of cases) {
    test(`by ${JSON.stringify(fields)} is described in our own words`, () => {
      const error = connectionErrorOf(Object.assign(new Error('words of a library'), fields));
      assert.deepEqual([error.code, error.reason, error.name], [code, 'GitUnreachable', 'TransientError']);
      assert.doesNotMatch(error.message, /library/);
    });
  }

  test('has an untrusted certificate', () => {
    // The last one is that of a key that is too short, among others.
    for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'INVALID_CA', 'INVALID_PURPOSE', 'UNSPECIFIED'])
      assert.equal(connectionErrorOf(codedError(code, '')).reason, 'CertificateNotTrusted');
  });

  for (const [what, code, printed] of [
    ['has expired', 'CERT_HAS_EXPIRED', 'SSL certificate problem: certificate has expired'],
    ['begins later', 'CERT_NOT_YET_VALID', 'SSL certificate problem: certificate is not yet valid'],
    ['is for another name', 'ERR_TLS_CERT_ALTNAME_INVALID', 'SSL: no alternative certificate subject name'],
    ['has another name (GnuTLS)', 'HOSTNAME_MISMATCH', "SSL: certificate subject name (x) does not match 'y'"],
    [
      'is from an unknown CA',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'server certificate verification failed. CAfile: none',
    ],
  ] as const) {
    test(`has a certificate that ${what}, whether git or Node notices`, () => {
      const error = connectionErrorOf(codedError(code, ''));
      assert.deepEqual([error.reason, error.name], ['CertificateNotTrusted', 'TerminalError']);
      assert.equal(gitErrorOf(`fatal: unable to access 'https://git.test/': ${printed}`).message, error.message);
    });
  }

  test("has a CA bundle that git can't read", () => {
    for (const printed of ['Problem with the SSL CA cert (path? access rights?)', 'error adding trust anchors: x']) {
      const error = gitErrorOf(`fatal: unable to access 'https://git.test/': ${printed}`);
      assert.equal(error.reason, 'CertificateNotTrusted');
      assert.match(error.message, / spec\.git\.caSecretRef\b/);
    }
  });
});

suite('a secret sent to a git server', () => {
  const basic = Buffer.from('user:pass word').toString('base64');
  const rows: [what: string, text: string, authorization: string | undefined, expected: string][] = [
    ['nothing', 'all is well', undefined, 'all is well'],
    ['a header', `no Basic ${basic}, sorry`, `Basic ${basic}`, 'no [redacted], sorry'],
    ['credentials', `<${basic}>`, `Basic ${basic}`, '<[redacted]>'],
    ['a user and a password', 'user:pass word', `Basic ${basic}`, '[redacted]'],
    ['a password', 'pass word and pass word', `Basic ${basic}`, '[redacted] and [redacted]'],
    ['a token', 'tok-1 is wrong', 'Bearer tok-1', '[redacted] is wrong'],
    ['a password that is a syllable', 'an abc', `Basic ${Buffer.from('u:abc').toString('base64')}`, 'an abc'],
    ['a password of four letters', 'an abcd', `Basic ${Buffer.from('u:abcd').toString('base64')}`, 'an [redacted]'],
  ];
  for (const [what, text, authorization, expected] of rows) {
    test(`is never logged if the server repeats it: ${what}`, () =>
      assert.equal(withoutCredentials(text, authorization), expected));
  }
});

test('an error with its own message keeps that message', () => {
  const typed = new TerminalError('no', { code: 'x', reason: 'Waiting' });
  assert.equal(connectionErrorOf(typed), typed);
});

suite('the environment of git defines', () => {
  test('nothing of the machine, and the allowed transports', () => {
    const environment = gitEnvironment({});
    assert.partialDeepStrictEqual(environment, {
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      LC_ALL: 'C',
      GIT_ALLOW_PROTOCOL: 'http:https:ssh:git',
      GIT_SSH_COMMAND: sshCommand({}),
    });
    assert.ok('GIT_NO_LAZY_FETCH' in environment);
    const settings = Array.from({ length: Number(environment.GIT_CONFIG_COUNT) }, (_, n) => [
      environment[`GIT_CONFIG_KEY_${n}`],
      environment[`GIT_CONFIG_VALUE_${n}`],
    ]);
    assert.deepEqual(settings, [
      ['safe.directory', '*'],
      ['core.fsmonitor', 'false'],
      ['protocol.version', '2'],
      ['http.followRedirects', 'false'],
      ['http.curloptResolve', 'nowhere'],
    ]);
  });

  const always =
    'ssh -F /dev/null -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3';
  const strict = '-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null';
  const commands: [what: string, access: Parameters<typeof sshCommand>[0], command: string][] = [
    ['nobody', {}, `${always} ${strict}`],
    ['by a key', { sshKeyFile: "/a'b" }, `${always} -o IdentitiesOnly=yes -i '/a'\\''b' ${strict}`],
    ['known hosts', { knownHostsFile: '/k' }, `${always} ${strict.replace('File=/dev/null', "File='/k'")}`],
    ['any server', { ignoresHostKey: true }, `${always} ${strict.replace('Checking=yes', 'Checking=no')}`],
    [
      'an address',
      { sshHost: { address: '192.0.2.1', port: 2222, alias: 'git.test' } },
      `${always} ${strict} -o HostName='192.0.2.1' -o Port=2222 -o HostKeyAlias='git.test'`,
    ],
  ];
  for (const [what, access, command] of commands) {
    test(`the hosts that ssh trusts: ${what}`, () => assert.equal(sshCommand(access), command));
  }
});
