import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  authorizationOf,
  hasCredentials,
  isSameRepository,
  parseRepository,
  sentUserOf,
  sshHostsOf,
} from '../../../../../shared/domain/git/repository.ts';

const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

suite('the credentials from a Secret are sent', () => {
  const cases: [name: string, host: string, value: string, header: string, user?: string][] = [
    ['as a password', 'git.example.com', 'token\n', basic('x-access-token:token')],
    ['as a password with the user of the host', 'bitbucket.org', 'token', basic('x-token-auth:token')],
    ['with the user that it names', 'git.example.com', 'me:pass:word', basic('me:pass:word')],
    ['without a user, as the manual of Azure DevOps has it', 'dev.azure.com', ':pat\n', basic(':pat')],
    ['with the user in the URL', 'git.example.com', 'token', basic('me:token'), 'me'],
    ['with the user in the URL if it names none', 'dev.azure.com', ':pat', basic('org:pat'), 'org'],
    ['with the user that it names, before the one in the URL', 'git.example.com', 'me:p', basic('me:p'), 'you'],
    ['as it stands where it says bearer', 'git.example.com', 'Bearer abc.DEF-1_2~+/==\n', 'Bearer abc.DEF-1_2~+/=='],
    ['as it stands where it is encoded', 'dev.azure.com', `basic ${btoa(':pat')}\n`, basic(':pat')],
  ];
  for (const [name, host, value, header, user] of cases)
    test(name, () => assert.equal(authorizationOf({ host, ...(user && { user }) }, value), header));

  test('never in a form that could add a header', () => {
    const header = authorizationOf({ host: 'git.example.com' }, 'Bearer a\r\nX-Other: y');
    assert.match(header, /^Basic [A-Za-z0-9+/=]+$/);
  });
});

suite('two repository URLs', () => {
  const https = 'https://git.example.com/team/app.git';
  const cases: [one: string, other: string, same: boolean][] = [
    [https, 'https://GIT.example.com/team/app', true],
    [https, 'git@git.example.com:team/app.git', true],
    [https, 'https://git.example.com:8443/team/app.git', false],
    [https, 'https://git.example.com/team/App.git', false],
    [https, 'https://git.example.org/team/app.git', false],
    ['http://127.0.0.1:3000/app.git', 'http://127.0.0.1:3001/app.git', false],
    ['git://git.example.com:9418/app', 'https://git.example.com/app', true],
    ['https://git.example.com:80/app', 'https://git.example.com/app', false],
    ['https://git.example.com/app.git.git', 'https://git.example.com/app.git', false],
    ['nonsense', 'nonsense', true],
    ['nonsense', 'other', false],
  ];
  for (const [one, other, same] of cases)
    test(`${one} and ${other} name ${same ? 'one repository' : 'two repositories'}`, () => {
      assert.deepEqual([isSameRepository(one, other), isSameRepository(other, one)], [same, same]);
    });
});

suite('a URL in which git could find another host is rejected:', () => {
  for (const url of [
    'ssh://a%40127.0.0.1%3a22%2f@8.8.8.8/x',
    'git://a%40127.0.0.1:22%2f@8.8.8.8/x',
    'https://127%2e0.0.1/x',
    ...['%00', '%23', '%2f', '%3A', '%3f', '%5C', '%', '%2g'].map((code) => `https://a${code}@git.test/x`),
    'https://a%40127.0.0.1?@8.8.8.8/x',
    'https://a%40b@127.0.0.1@8.8.8.8/x',
    'https://a%40127.0.0.1\\@8.8.8.8/x',
    'ssh://8.8.8.8#@127.0.0.1/x',
    'https:///127.0.0.1/x',
    'https:127.0.0.1/x',
    'ssh://127.0.0.1\t.example.com/x',
    'a:b@127.0.0.1:x',
    'a@b@127.0.0.1:x',
    'https://ｘss.test/x',
    'http://git.test。/x',
    'git@gräte.test:x',
    'ssh://git@gräte.test/x',
  ])
    test(JSON.stringify(url), () => assert.equal(parseRepository(url), undefined));

  test('and any other one is accepted', () => {
    const hostOf = (url: string) => parseRepository(url)?.host;
    assert.equal(hostOf('ssh://git@Git.test:2222/a%20b@c?d#e'), 'git.test');
    assert.equal(hostOf('https://[2001:db8::1]:8443/a'), '2001:db8::1');
    assert.equal(hostOf('git@git.test:a%20b@c:d'), 'git.test');
    assert.equal(hostOf('https://xn--grte-loa.test/Fähre'), 'xn--grte-loa.test');
    assert.equal(hostOf('ssh://jürgen@git.test/x'), 'git.test');
    assert.equal(hostOf('https://me%40127.0.0.1@git.test/x'), 'git.test');
    assert.equal(hostOf('https://a%20%25%2B%7E%C3%BC@git.test/x'), 'git.test');
  });
});

suite('a repository', () => {
  const cases: [url: string, transport: string | undefined, host?: string][] = [
    ['http://GIT.test:8080/a', 'http', 'git.test'],
    ['https://git.test', 'http', 'git.test'],
    ['ssh://git@git.test/a', 'ssh', 'git.test'],
    ['ssh://git@[2001:DB8::1]:22/a', 'ssh', '2001:db8::1'],
    ['git@Git.test:a', 'ssh', 'git.test'],
    ['git://git.test/a', 'git', 'git.test'],
    ['file:///a', undefined],
    ['ext::sh -c id', undefined],
    ['ftp://git.test/a', undefined],
    ['ssh:///a', undefined],
    ['git.test:a', undefined],
    ['', undefined],
    ['https://git.test/a\u0001', undefined],
    ['https://git.test/a b', undefined],
    ['https://git.test:99999/a', undefined],
  ];
  for (const [url, transport, host] of cases) {
    test(`${JSON.stringify(url)} is reached over ${transport ?? 'nothing'}`, () => {
      assert.deepEqual(parseRepository(url), transport && { url, transport, host });
    });
  }

  for (const [repo, url, user] of [
    ['https://me@git.test/a', 'https://git.test/a', 'me'],
    ['HTTP://me@git.test:81/a//', 'HTTP://git.test:81/a', 'me'],
    ['https://me:secret@git.test/a', 'https://git.test/a', 'me'],
    ['https://@git.test/a', 'https://git.test/a'],
    ['https://git.test/a.git/', 'https://git.test/a.git'],
    ['git@git.test:a/', 'git@git.test:a'],
  ] as const) {
    test(`${repo} is fetched from ${url}`, () => {
      const found = parseRepository(repo);
      assert.deepEqual([found?.url, found?.user, found?.host], [url, user, 'git.test']);
    });
  }

  for (const [url, expected] of [
    ['https://me@git.test/a', false],
    ['https://git.test/a:b@c', false],
    ['https://global-sync@git.test/a', false],
    ['https://me:secret@git.test/a', true],
    ['https://me:@git.test/a', true],
    ['ssh://git:secret@git.test/a', true],
    ['git://me@git.test/a', true],
    ['https://ghp_abc@github.com/a', true],
    ['https://glpat-abc@gitlab.com/a', true],
    ['https://ATBBabc@bitbucket.org/a', true],
    [`https://${'0123456789'.repeat(4)}@git.test/a`, true],
  ] as const) {
    test(`${url} contains ${expected ? 'credentials' : 'no credentials'}`, () =>
      assert.equal(hasCredentials(url), expected));
  }

  for (const [url, port, alias] of [
    ['git@git.test:a', 22, 'git.test'],
    ['ssh://git@git.test:2222/a', 2222, '[git.test]:2222'],
    ['ssh://git@[2001:db8::1]:2222/a', 2222, '[2001:db8::1]:2222'],
  ] as const) {
    test(`${url} is known to ssh as ${alias}`, () => {
      const repository = parseRepository(url);
      assert.ok(repository);
      const first = '192.0.2.1';
      const last = '2001:db8::1';
      assert.deepEqual(sshHostsOf(repository, [first, last]), [
        { address: first, port, alias, connectSeconds: 4 },
        { address: last, port, alias },
      ]);
    });
  }
});

test('the user of an https URL is decoded, and sent with the token', () => {
  const rows: [url: string, secret: string, header: string, named: string | undefined][] = [
    ['https://gitlab+deploy-token-42@git.test/x', 'pw', 'gitlab+deploy-token-42:pw', 'gitlab+deploy-token-42'],
    ['https://j%C3%BCrgen@git.test/x', 'pw', 'jürgen:pw', 'jürgen'],
    ['https://a%FF@git.test/x', 'pw', 'a%FF:pw', 'a%FF'],
    ['https://git.test/x', 'pw', 'x-access-token:pw', 'x-access-token'],
    ['https://bitbucket.org/x', 'pw\n', 'x-token-auth:pw', 'x-token-auth'],
    ['https://ada@git.test/x', ':pw', 'ada:pw', 'ada'],
    ['https://git.test/x', 'secret:x-oauth-basic', 'secret:x-oauth-basic', undefined],
  ];
  for (const [url, secret, header, named] of rows) {
    const repository = parseRepository(url);
    assert.ok(repository, url);
    assert.equal(Buffer.from(authorizationOf(repository, secret).slice(6), 'base64').toString(), header);
    assert.equal(sentUserOf(repository, secret), named);
  }
  const repository = parseRepository('https://git.test/x');
  assert.equal(repository && sentUserOf(repository, 'Bearer abc'), undefined);
});
