import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { suite, test } from 'node:test';
import { Door, SAFE_HEADERS } from '../../../cli/ui/door.ts';

const host = '127.0.0.1:8123';

function arrange() {
  const door = new Door(host);
  const [cookie = ''] = door.cookie.split(';');
  const own = {
    host,
    cookie,
    origin: `http://${host}`,
    'content-type': 'application/json',
    'x-stoker-token': door.pageToken,
  };
  const knock = (path: string, headers: IncomingHttpHeaders = { host, cookie }, method = 'GET') => {
    const verdict = door.judge({ method, url: new URL(path, `http://${host}`), headers });
    return verdict.kind === 'refused' ? verdict.status : verdict.kind;
  };
  return { door, own, cookie, knock, page: door.base };
}

suite('the access check of the page', () => {
  test('accepts the secret address repeatedly', () => {
    const { door, knock } = arrange();
    assert.equal(knock(door.address, { host }), 'enter');
    assert.equal(knock(door.address, { host }), 'enter');
    assert.equal(knock(new Door(host).address, { host }), 401);
    assert.equal(knock('/', { host }), 401);
    assert.equal(knock('/?token=', { host }), 401);
    assert.equal(knock(door.address, { host }, 'POST'), 405);
  });

  test("accepts a ticket once, because others may see the browser's command line", () => {
    const { door, knock } = arrange();
    const first = door.makeTicket();
    const second = door.makeTicket();
    assert.equal(knock(first, { host }), 401);
    assert.equal(knock(second, { host }), 'enter');
    assert.equal(knock(second, { host }), 401);
    assert.notEqual(new URL(second).search, new URL(door.address).search);
  });

  test('rejects all clients after a ticket is used twice', () => {
    const { door, knock, own, page } = arrange();
    const ticket = door.makeTicket();
    const { session, pageToken } = door;
    assert.equal(knock(ticket, { host }), 'enter');
    assert.equal(knock(page), 'welcome');
    assert.equal(knock(ticket, { host }), 401);
    assert.equal(knock(page), 401);
    assert.ok(session.aborted);
    assert.notEqual(door.pageToken, pageToken);
    const [cookie = ''] = door.cookie.split(';');
    assert.equal(knock(page, { ...own, cookie }, 'POST'), 403);
    assert.equal(knock(door.address, { host }), 'enter');
    assert.equal(knock(ticket, { host }), 401);
    assert.equal(knock(page, { host, cookie }), 'welcome');
    assert.ok(!door.session.aborted);
  });

  test('accepts only its own host name and port', () => {
    const { knock, cookie, page } = arrange();
    assert.equal(knock(page), 'welcome');
    for (const other of ['evil.example:8123', 'localhost:8123', '127.0.0.1', '127.0.0.1:80', undefined])
      assert.equal(knock(page, { cookie, ...(other && { host: other }) }), 421, `${other}`);
  });

  test('requires the cookie on every path of the page, and has no other path', () => {
    const { knock, cookie, page } = arrange();
    for (const path of ['', 'page/main.js', 'events', 'trace', 'rights']) {
      assert.equal(knock(page + path, { host }), 401);
      assert.equal(knock(page + path, { host, cookie: `${cookie}x` }), 401);
      assert.equal(knock(page + path), 'welcome');
      assert.equal(knock(page + path, { host, cookie: `a=b; ${cookie}; c=d` }), 'welcome');
    }
    assert.equal(knock('/events'), 404);
    assert.equal(knock('/other/events'), 404);
  });

  test('rejects pages of another site or another port', () => {
    const { knock, own, page } = arrange();
    for (const site of ['cross-site', 'same-site'])
      assert.equal(knock(page, { ...own, 'sec-fetch-site': site }), 403, site);
    for (const site of ['same-origin', 'none'])
      assert.equal(knock(page, { ...own, 'sec-fetch-site': site }), 'welcome');
  });

  test('accepts changes from its own page only', () => {
    const { knock, own, page } = arrange();
    const order = (headers: IncomingHttpHeaders) => knock(`${page}order`, headers, 'POST');
    assert.equal(order(own), 'welcome');
    const { origin: _, ...withoutOrigin } = own;
    assert.equal(order(withoutOrigin), 403);
    for (const origin of ['null', 'http://127.0.0.1:9999', 'http://localhost:8123', 'https://127.0.0.1:8123'])
      assert.equal(order({ ...own, origin }), 403, origin);
    assert.equal(order({ ...own, 'x-stoker-token': 'x' }), 403);
    assert.equal(order({ ...own, 'content-type': 'text/plain' }), 400);
    assert.equal(order({ ...own, cookie: '' }), 401);
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH']) assert.equal(knock(page, own, method), 405, method);
  });

  test('uses separate secrets, and sends the cookie to no other server', () => {
    const { door } = arrange();
    assert.match(door.cookie, /^stoker-ui=[\w-]{43}; Path=\/[\w-]{12}\/; HttpOnly; SameSite=Strict$/);
    const secrets = [door.cookie, door.address, door.pageToken, door.base];
    assert.equal(new Set(secrets).size, secrets.length);
  });

  test('allows the page no external resource and no inline script', () => {
    const policy = SAFE_HEADERS['Content-Security-Policy'] ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|http|\*|data:/);
    assert.match(policy, /frame-ancestors 'none'/);
  });
});
