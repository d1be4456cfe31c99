import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { HostResolver } from '../../../../controller/polling/host-resolver.ts';
import { slow } from '../../../support/depth.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

type Answer = { a?: string; aaaa?: string } | 'dangling' | 'silent';

const TYPE_A = 1;
const TYPE_CNAME = 5;

/** Starts a name server that knows these names, and makes a resolver that queries it. */
async function arrange(t: TestContext, names: Record<string, Answer>, { hosts = '', resolvConf = '' } = {}) {
  const asked: string[] = [];
  const server = createSocket('udp4', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    asked.push(`${name} ${type === TYPE_A ? 'A' : 'AAAA'}`);
    const answer = names[name];
    if (answer !== 'silent') server.send(reply(query.subarray(0, end), answer, type), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const directory = await temporaryDirectory(t, 'resolver-');
  const hostsFile = path.join(directory, 'hosts');
  const resolvConfFile = path.join(directory, 'resolv.conf');
  await writeFile(hostsFile, hosts);
  await writeFile(resolvConfFile, resolvConf);
  const servers = [`127.0.0.1:${server.address().port}`];
  const resolver = new HostResolver({ hostsFile, resolvConf: resolvConfFile, servers });
  const resolve = async (name: string) => (await resolver.resolve(name)).map(({ address }) => address);
  return { resolver, resolve, asked };
}

/** https://www.rfc-editor.org/rfc/rfc1035#section-4.1.2 */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let offset = 12;
  for (let length = query[offset]!; length > 0; length = query[offset]!) {
    labels.push(query.toString('latin1', offset + 1, offset + 1 + length));
    offset += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(offset + 1), end: offset + 5 };
}

/** The record of an answer; that of a dangling name is an alias (CNAME) of a name without an address. */
function recordOf(answer: Exclude<Answer, 'silent'> | undefined, type: number) {
  if (answer === 'dangling') return { type: TYPE_CNAME, data: Buffer.from('\x05other\x04test\x00', 'latin1') };
  const text = type === TYPE_A ? answer?.a : answer?.aaaa;
  if (!text) return undefined;
  return { type, data: Buffer.from(type === TYPE_A ? text.split('.').map(Number) : bytesOf(text)) };
}

const bytesOf = (address: string) => Buffer.from(address.replaceAll(':', ''), 'hex');

function reply(question: Buffer, answer: Exclude<Answer, 'silent'> | undefined, type: number): Buffer {
  const record = recordOf(answer, type);
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(answer ? 0x8180 : 0x8183, 2);
  header.writeUInt16BE(record ? 1 : 0, 6);
  header.fill(0, 8, 12);
  if (!record) return Buffer.concat([header, question.subarray(12)]);
  const head = Buffer.from([0xc0, 12, 0, record.type, 0, 1, 0, 0, 0, 60, 0, record.data.length]);
  return Buffer.concat([header, question.subarray(12), head, record.data]);
}

suite('the resolver of host names', { concurrency: 4 }, () => {
  test('finds a name at once while those of eight domains stay silent, and drops these', slow, async (t) => {
    const silent = Array.from({ length: 8 }, (_, index) => `git.silent-${index}.test`);
    const names = Object.fromEntries(silent.map((name) => [name, 'silent'] as const));
    const { resolve } = await arrange(t, { ...names, 'git.good.test': { a: '192.0.2.1' } });
    const began = performance.now();
    let givenUp = 0;
    const waiting = silent.map(async (name) => {
      await assert.rejects(resolve(name), { code: 'ETIMEOUT' });
      givenUp += 1;
    });
    assert.deepEqual(await resolve('git.good.test'), ['192.0.2.1']);
    assert.equal(givenUp, 0, 'it waited for a silent one');
    await Promise.all(waiting);
    assert.ok(performance.now() - began < 20_000);
  });

  const cluster =
    'nameserver 192.0.2.53\nsearch apps.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n';

  test('finds the services of a cluster under their short names', async (t) => {
    const { resolve } = await arrange(
      t,
      { 'gitea.apps.svc.cluster.local': { a: '192.0.2.1' }, 'gitea.git.svc.cluster.local': { a: '192.0.2.2' } },
      { resolvConf: cluster },
    );
    assert.deepEqual(await resolve('gitea'), ['192.0.2.1']);
    assert.deepEqual(await resolve('gitea.git.svc'), ['192.0.2.2']);
    assert.deepEqual(await resolve('Gitea.Git'), ['192.0.2.2']);
    assert.deepEqual(await resolve('gitea.git.svc.cluster.local'), ['192.0.2.2']);
  });

  test('queries a name with enough dots as it is first, and stops if a server is silent', slow, async (t) => {
    const { resolve, asked } = await arrange(
      t,
      {
        'git.test': { a: '192.0.2.1' },
        'git.test.lan': { a: '192.0.2.2' },
        'a.b': 'silent',
        'a.b.lan': { a: '192.0.2.3' },
      },
      { resolvConf: 'domain elsewhere\nsearch lan\n' },
    );
    assert.deepEqual(await resolve('git.test'), ['192.0.2.1']);
    await assert.rejects(resolve('git'), { code: 'ENOTFOUND' });
    await assert.rejects(resolve('a.b'), { code: 'ETIMEOUT' });
    assert.ok(!asked.includes('a.b.lan A'));
  });

  test('reads the aliases of a pod before it queries a server', async (t) => {
    const hosts = '# kubelet\n127.0.0.1\tlocalhost\n192.0.2.7  other git.test # alias\n2001:db8::7 git.test\n';
    const { resolve, asked } = await arrange(t, { 'git.test': { a: '192.0.2.1' } }, { hosts });
    assert.deepEqual((await resolve('GIT.test')).toSorted(), ['192.0.2.7', '2001:db8::7']);
    assert.deepEqual(asked, []);
  });

  const configurations: [what: string, resolvConf: string, name: string, asked: string[]][] = [
    ['search domains', 'search a.test. .b.test .\n', 'git', ['git.a.test', 'git.b.test', 'git']],
    ['one domain', '  domain\ta.test\n', 'git', ['git.a.test', 'git']],
    ['a name with as many dots', 'search a.test\noptions ndots:2\n', 'git.x.y', ['git.x.y', 'git.x.y.a.test']],
    ['options among others', 'search a.test\noptions ndots:0 timeout:1 ndots:2\n', 'git.x', ['git.x.a.test', 'git.x']],
  ];
  for (const [what, resolvConf, name, expected] of configurations)
    test(`reads resolv.conf: ${what}`, async (t) => {
      const { resolve, asked } = await arrange(t, {}, { resolvConf });
      await assert.rejects(resolve(name), { code: 'ENOTFOUND' });
      assert.deepEqual(
        asked.flatMap((question) => (question.endsWith(' A') ? [question.slice(0, -2)] : [])),
        expected,
      );
    });

  test('reads at most 32 search domains', async (t) => {
    const search = Array.from({ length: 34 }, (_, index) => `d${index}`).join(' ');
    const { resolve, asked } = await arrange(t, {}, { resolvConf: `search ${search}\n` });
    await assert.rejects(resolve('git'), { code: 'ENOTFOUND' });
    assert.equal(asked.filter((question) => question.endsWith(' A')).length, 33);
    assert.ok(asked.includes('git.d31 A') && !asked.includes('git.d32 A'));
  });

  test('returns the addresses of both families, and lists reachable ones first', async (t) => {
    const aaaa = '2001:0db8:0000:0000:0000:0000:0000:0001';
    const names = { 'git.test': { a: '192.0.2.1', aaaa }, 'six.test': { aaaa } };
    const { resolver, resolve } = await arrange(t, names, { hosts: '2001:db8::1 alias\n192.0.2.1 alias # and more\n' });
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const has = (family: string) => own.some((each) => !each.internal && each.family === family);
    const both = [
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ];
    const expected = has('IPv6') && !has('IPv4') ? both.toReversed() : both;
    for (const name of ['git.test', 'alias']) assert.deepEqual(await resolver.resolve(name), expected);
    assert.deepEqual(await resolve('six.test'), ['2001:db8::1']);
    await assert.rejects(resolve('nothing.test'), { code: 'ENOTFOUND' });
  });

  test('ignores an alias that leads nowhere, and tries its other names', async (t) => {
    const names = { 'git.test': 'dangling', 'git.test.lan': { a: '192.0.2.1' }, 'app.test': 'dangling' } as const;
    const { resolve } = await arrange(t, names, { resolvConf: 'search lan\n' });
    assert.deepEqual(await resolve('git.test'), ['192.0.2.1']);
    await assert.rejects(resolve('app.test'), { code: 'ENODATA' });
  });
});
