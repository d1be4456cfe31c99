import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import type { Update } from '../../../cli/ui/board.ts';
import type { Proposal } from '../../../cli/ui/desk.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, patchResource, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { permit } from '../../support/permit.ts';
import { runCli } from '../../support/run-cli.ts';
import { startUi, type Ui } from '../../support/start-ui.ts';
import { writeReleases } from '../../support/sync-releases.ts';
import { viewerOf } from '../../support/viewer-of.ts';
import { CHANGES, writeReleaseToApprove } from './release-to-approve.ts';
import { startRelay } from './start-relay.ts';

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Sends a request unchanged: `fetch` doesn't set Host, and follows redirects. */
function send(url: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Authenticates as a browser does, and sends requests like the page. */
async function enter({ address, origin }: Pick<Ui, 'address' | 'origin'>) {
  const entered = await send(address, {});
  const [cookie = ''] = String(entered.headers['set-cookie']).split(';');
  const page = `${origin}${entered.headers.location}`;
  const html = await send(page, { cookie });
  const [, token = ''] = /name="token" content="([\w-]+)"/.exec(html.text) ?? [];
  const own = { cookie, origin, 'content-type': 'application/json', 'x-stoker-token': token };
  const post = async (path: string, body: object) => {
    const answer = await send(page + path, own, JSON.stringify(body));
    return { status: answer.status, body: JSON.parse(answer.text) };
  };
  return { entered, html, page, own, post };
}

/** Reads and merges updates until one matches. */
async function untilUpdate(
  { page, own }: Awaited<ReturnType<typeof enter>>,
  accept: (update: Update) => boolean,
  query = '',
): Promise<Update> {
  const signal = AbortSignal.timeout(120_000);
  const response = await fetch(`${page}events${query}`, { headers: { cookie: own.cookie }, signal });
  const cards = new Map<string, Update['cards'][number]>();
  let text = '';
  let last: Partial<Update> = {};
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (text + chunk).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events.filter((each) => each.startsWith('data: '))) {
      const update = JSON.parse(event.slice(6)) as Update;
      for (const key of update.gone) cards.delete(key);
      for (const card of update.cards) cards.set(`${card.namespace}/${card.name}`, card);
      last = { ...last, ...update, cards: [...cards.values()] };
      if (accept(last as Update)) return last as Update;
    }
  }
  throw new Error('the stream ended');
}

/** A namespace with GatewaySyncs and without a controller. */
async function arrange(t: TestContext, ...names: string[]) {
  const namespace = await createNamespace(t);
  for (const name of names) await applyGatewaySync({ namespace, name }, { repo: 'https://git.example/x' });
  return { namespace, ...(await connectCluster()) };
}

suite('kubectl stoker ui', { concurrency: 4 }, () => {
  test('serves the page only to clients with its secret address', async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const ui = await startUi(t, kubeconfig, '-n', namespace);
    const { entered, html, page, own } = await enter(ui);
    assert.deepEqual([entered.status, entered.text, html.status], [303, '', 200]);
    for (const { headers } of [entered, html]) {
      assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['access-control-allow-origin'], undefined);
    }
    const [, ...files] = [...html.text.matchAll(/(?:href|src)="(page\/[\w.]+)"/g)].map(([, file = '']) => file);
    assert.ok(files.length > 5, html.text);
    for (const file of files) assert.equal((await send(`${page}${file}`, { cookie: own.cookie })).status, 200, file);
    const { port } = new URL(ui.origin);
    const refused: [string, Record<string, string>, number][] = [
      [page, {}, 401],
      [`${page}events`, {}, 401],
      [page, { ...own, host: `evil.example:${port}` }, 421],
      [`${page}nothing`, own, 404],
      [`${page}page/..%2f..%2fassets.ts`, own, 404],
    ];
    for (const [url, headers, status] of refused) {
      const answer = await send(url, headers);
      assert.equal(answer.status, status, `${url} ${answer.text}`);
      assert.ok(!answer.text.includes(own['x-stoker-token']));
      assert.equal(answer.headers['set-cookie'], undefined);
    }
  });

  test('changes nothing for a request that another page could send', async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const { page, own, post } = await enter(await startUi(t, kubeconfig, '-n', namespace));
    const wish = { verb: 'pause', namespace, name: 'plant' };
    const { agreed } = (await post('plan', wish)).body;
    const body = JSON.stringify({ ...wish, agreed });
    const { origin: _, ...withoutOrigin } = own;
    const refused: [Record<string, string>, number][] = [
      [withoutOrigin, 403],
      [{ ...own, origin: 'http://127.0.0.1:1' }, 403],
      [{ ...own, 'x-stoker-token': 'x' }, 403],
      [{ ...own, cookie: '' }, 401],
      [{ ...own, 'content-type': 'text/plain' }, 400],
    ];
    for (const [headers, status] of refused) assert.equal((await send(`${page}order`, headers, body)).status, status);
    assert.equal((await send(`${page}order`, own)).status, 404);
    const foreign = { ...wish, name: '..', agreed };
    for (const wrong of ['', '[]', '{"verb":"delete"}', JSON.stringify(foreign), 'x'.repeat(9_000)]) {
      const answer = await send(`${page}order`, own, wrong);
      assert.equal(answer.status, 409, answer.text);
    }
    const { spec } = await callApi<GatewaySync>({ path: gatewaySyncPath(namespace, 'plant') });
    assert.equal(spec.paused ?? false, false);
    for (const path of ['trace', 'trace?name=plant', `trace?namespace=${namespace}&name=..`, 'rights?namespace=..']) {
      const { status, text } = await send(`${page}${path}`, own);
      assert.deepEqual([status, /^\{"code":"PageFailed"/.test(text)], [409, true], `${path}: ${text}`);
    }
  });

  test('replaces a request, even one with arbitrary content', async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const { post } = await enter(await startUi(t, kubeconfig, '-n', namespace));
    const wish = { verb: 'sync', namespace, name: 'plant' };
    for (const by of ['two  spaces', 'a\u202eb', 'x'.repeat(3_000)]) {
      const annotations = { 'sync.io/requested-ref': 'other', 'sync.io/requested-by': by };
      await patchResource({ namespace, name: 'plant' }, { metadata: { annotations } });
      const { agreed } = (await post('plan', wish)).body;
      const done = await post('order', { ...wish, agreed });
      assert.equal(done.status, 200, JSON.stringify(done.body));
      const { metadata } = await callApi<GatewaySync>({ path: gatewaySyncPath(namespace, 'plant') });
      const { 'sync.io/requested-ref': ref, 'sync.io/requested-by': next } = metadata.annotations ?? {};
      assert.deepEqual([ref, next], ['main', 'kubectl-stoker-refresh']);
    }
  });

  test(
    'shows the status alone to users who can list and not watch, and names the missing permission',
    slow,
    async (t) => {
      const { namespace } = await arrange(t, 'plant');
      const viewer = await viewerOf(namespace, ['syncreports'], ['get', 'list']);
      const entered = await enter(await startUi(t, viewer));
      const isLimited = ({ limits }: Update) => limits.some((limit) => limit.includes(' SyncReports:'));
      const { detail } = await untilUpdate(entered, isLimited, `?namespace=${namespace}&name=plant`);
      assert.equal(detail?.basis.from, 'status');
    },
  );

  test(
    'shows and counts one namespace to users with access to it only, and names the missing permission',
    slow,
    async (t) => {
      const [own, other] = await Promise.all([arrange(t, 'plant', 'shop'), arrange(t, 'secret')]);
      const viewer = await viewerOf(own.namespace);
      const entered = await enter(await startUi(t, viewer));
      const update = await untilUpdate(entered, ({ cards, limits }) => cards.length > 1 && limits.length > 0);
      assert.deepEqual(update.cards.map(({ name }) => name).sort(), ['plant', 'shop']);
      assert.equal(update.totals.resources, 2);
      assert.match(update.limits.join(), / pods\b/);
      const outsider = `?namespace=${other.namespace}&name=secret`;
      const asked = await untilUpdate(entered, ({ detail }) => detail !== undefined, outsider);
      assert.equal(asked.detail, null);
      const { headers, ...trace } = await send(`${entered.page}trace${outsider}`, entered.own);
      assert.equal(trace.status, 409);
      assert.match(trace.text, / GatewaySyncs in the namespace test-/);
      const all = await startUi(t, viewer, '-A').catch(({ message }: Error) => message);
      assert.match(String(all), / GatewaySyncs in all namespaces/);
    },
  );

  test(
    'shows releases as soon as they are stored, and what is missing to users who cannot list them',
    slow,
    async (t) => {
      const { namespace, kubeconfig } = await arrange(t);
      const address = { namespace, name: 'plant' };
      await applyGatewaySync(address, { repo: 'https://git.example/x' }, { rollout: {} });
      const open = `?namespace=${namespace}&name=plant`;
      const outsider = await enter(await startUi(t, await viewerOf(namespace)));
      const isLimited = ({ limits }: Update) => limits.some((limit) => limit.includes(' SyncReleases:'));
      const hidden = await untilUpdate(outsider, (update) => isLimited(update) && update.detail !== undefined, open);
      assert.deepEqual([hidden.detail?.hasHistory, hidden.detail?.history], [true, undefined]);

      const entered = await enter(await startUi(t, kubeconfig, '-n', namespace));
      const shows = (count: number) =>
        untilUpdate(entered, ({ detail }) => detail?.history?.length === count, open).then(
          ({ detail }) => detail?.history,
        );
      await shows(0);
      const listed = shows(2);
      const release = { commit: 'a'.repeat(40), ref: 'v1' };
      await writeReleases(address, [
        { number: 1, ...release, result: 'Complete' },
        { number: 2, ...release },
      ]);
      assert.partialDeepStrictEqual(await listed, [
        { number: 2, name: 'plant-2', ...release },
        { number: 1, name: 'plant-1', ...release, result: 'Complete' },
      ]);
    },
  );

  test('previews a command in the words of the command line, and does exactly that', async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const entered = await enter(await startUi(t, kubeconfig, '-n', namespace));
    const wish = { verb: 'pause', namespace, name: 'plant' };
    const proposal = (await entered.post('plan', wish)).body as Proposal & { kind: 'change' };
    assert.match(proposal.place, new RegExp(`namespace ${namespace}`));
    const done = await entered.post('order', { ...wish, agreed: proposal.agreed });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    await untilGatewaySync({ namespace, name: 'plant' }, 'a pause', ({ spec }) => spec.paused);
    const again = await entered.post('plan', wish);
    assert.deepEqual([again.body.kind, /is already paused/.test(again.body.says)], ['done', true]);
  });

  test('lets users approve who may only view and approve, shows what they may, and names them', slow, async (t) => {
    const { namespace, approvals } = await writeReleaseToApprove(t);
    await permit(namespace, { can: 'view', users: ['victor'] });
    await permit(namespace, { can: 'approve', users: ['alice'] });
    const { kubeconfig } = await connectCluster();
    const pageFor = async (user: string) => {
      const entered = await enter(await startUi(t, kubeconfig, '-n', namespace, '--as', user));
      const rights = JSON.parse((await send(`${entered.page}rights?namespace=${namespace}`, entered.own)).text);
      return { ...entered, rights };
    };
    const wish = { verb: 'approve', namespace, name: 'app' };
    const victor = await pageFor('victor');
    assert.deepEqual(victor.rights, { mayChange: false, mayApprove: false });
    const { agreed } = (await victor.post('plan', wish)).body;
    const refused = await victor.post('order', { ...wish, agreed });
    assert.deepEqual([refused.status, refused.body.code, await approvals()], [409, 'Forbidden', []]);

    const alice = await pageFor('alice');
    assert.deepEqual(alice.rights, { mayChange: false, mayApprove: true });
    const open = `?namespace=${namespace}&name=app`;
    const canApprove = ({ detail }: Update) => detail?.offers.includes('approve') === true;
    await untilUpdate(alice, canApprove, open);
    const approved = untilUpdate(alice, ({ detail }) => detail?.history?.[0]?.approvedBy === 'alice', open);
    const proposal = (await alice.post('plan', wish)).body;
    const done = await alice.post('order', { ...wish, agreed: proposal.agreed });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.deepEqual(await approvals(), [['alice', undefined, CHANGES]]);
    assert.equal(canApprove(await approved), false);
    assert.equal((await alice.post('plan', wish)).body.kind, 'done');
  });

  test('notifies every page of changed, new, and deleted resources', slow, async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const entered = await enter(await startUi(t, kubeconfig, '-n', namespace));
    const query = `?namespace=${namespace}&name=plant`;
    const isNew = ({ cards: [card, ...others], detail }: Update) =>
      card?.name === 'shop' && others.length === 0 && detail === null;
    const updates = [entered, entered].map((page) => untilUpdate(page, isNew, query));
    await applyGatewaySync({ namespace, name: 'shop' }, { repo: 'https://git.example/x' });
    await callApi({ method: 'DELETE', path: gatewaySyncPath(namespace, 'plant') });
    for (const { totals } of await Promise.all(updates)) assert.equal(totals.resources, 1);
  });

  test('reports that the cluster is unreachable, and shows the changes when it is back', slow, async (t) => {
    const { namespace } = await arrange(t, 'plant');
    const { kubeconfig, link } = await startRelay(t);
    const entered = await enter(await startUi(t, kubeconfig, '-n', namespace));
    link.refuse();
    const broken = await untilUpdate(entered, ({ connection }) => !connection.isLive);
    assert.match(broken.connection.says ?? '', /cannot list GatewaySyncs .*: the connection was lost|nothing listens/);
    assert.ok(Date.parse(broken.connection.at ?? '') <= Date.now());
    assert.equal(broken.cards.length, 1);
    await applyGatewaySync({ namespace, name: 'shop' }, { repo: 'https://git.example/x' });
    link.accept();
    const back = await untilUpdate(entered, ({ connection, cards }) => connection.isLive && cards.length === 2);
    assert.equal(back.totals.resources, 2);
  });

  test('opens the browser with an address that works once', async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    for (const args of [[], ['--no-open']]) {
      const opened: string[] = [];
      let statuses: number[] = [];
      const host = {
        openBrowser: (address: string) => void opened.push(address),
        untilEnded: async () => {
          for (const address of opened) {
            const first = await enter({ address, origin: new URL(address).origin });
            const stream = untilUpdate(first, () => false).catch(() => 'ended');
            await untilUpdate(first, ({ cards }) => cards.length > 0);
            const second = await send(address, {});
            statuses = [first.entered.status, second.status, (await send(first.page, first.own)).status];
            assert.equal(await stream, 'ended');
          }
        },
      };
      const line = ['ui', '-n', namespace, '--kubeconfig', kubeconfig, ...args];
      const { output, notes, status } = await runCli(line, host);
      assert.equal(status, 0, notes);
      assert.match(notes, new RegExp(`showing context testbed, namespace ${namespace} with your permissions`));
      assert.deepEqual(statuses, args.length === 0 ? [303, 401, 401] : []);
      for (const address of opened) assert.notEqual(address, output.trim());
    }
  });

  test('exits when it is stopped, even with open pages', async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const ui = await startUi(t, kubeconfig, '-n', namespace);
    const entered = await enter(ui);
    const open = untilUpdate(entered, () => false).catch(() => 'ended');
    await untilUpdate(entered, ({ cards }) => cards.length > 0);
    const { code } = await ui.program.stop('SIGINT');
    assert.equal(code, 0, ui.program.output);
    assert.equal(await open, 'ended');
  });

  test('reports problems before it serves anything', slow, async (t) => {
    const { namespace, kubeconfig } = await arrange(t, 'plant');
    const taken = new URL((await startUi(t, kubeconfig, '-n', namespace)).origin).port;
    const cases: [string[], RegExp][] = [
      [['--port', '0'], /--port must be a number/],
      [['-A', '-n', namespace], /mutually exclusive/],
      [['--port', taken], /EADDRINUSE/],
    ];
    for (const [args, words] of cases) await assert.rejects(startUi(t, kubeconfig, ...args), words, args.join(' '));
  });
});
