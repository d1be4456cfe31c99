import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { packet } from '../../../controller/polling/pkt-line.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { inParallel, type World } from './world.ts';

const NAMESPACE = 'hostile';
/** Resources of each kind. */
const COUNTS = { silent: 300, madeUp: 100, large: 5 };
const ANSWER_BYTES = 64_000_000;
const LANES = 4;

/** A tenant that does what it can; `stop` gives how many edits and requests it made. */
export interface HostileTenant {
  stop(): Promise<number>;
}

/**
 * Has hosts that never answer, one that answers with 64 MB of refs, and resources at the repository that everybody
 * shares, which are asked for made-up commits without a pause.
 */
export async function startHostileTenant({ cluster, client, repositories }: World): Promise<HostileTenant> {
  const silent = await listen(() => {});
  const large = await listen(answerWithRefs);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const create = (name: string, repo: string) =>
    client.create(gatewaySyncPath(NAMESPACE), {
      apiVersion: API_VERSION,
      kind: GATEWAY_SYNC.kind,
      metadata: { name, namespace: NAMESPACE },
      spec: {
        git: { repo, ref: 'main' },
        polling: { interval: '5s' },
        sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }] } } },
      },
    });
  const shared = repositories[0]?.url ?? '';
  await inParallel(COUNTS.silent, LANES, (index) =>
    create(`silent-${index}`, `http://127.1.${index >> 8}.${(index & 255) + 1}:${portOf(silent)}/app.git`),
  );
  await inParallel(COUNTS.large, LANES, (index) =>
    create(`large-${index}`, `http://127.2.0.1:${portOf(large)}/${index}.git`),
  );
  await inParallel(COUNTS.madeUp, LANES, (index) => create(`made-up-${index}`, shared));
  let [edits, isStopped] = [0, false];
  const lane = async () => {
    for (; !isStopped; edits += 1) {
      const kind = edits % 2 === 0 ? 'made-up' : 'silent';
      const name = `${kind}-${(edits >> 1) % (kind === 'silent' ? COUNTS.silent : COUNTS.madeUp)}`;
      const requested = { 'sync.io/requested-ref': randomBytes(20).toString('hex'), 'sync.io/request-id': `${edits}` };
      await client.mergePatch(gatewaySyncPath(NAMESPACE, name), { metadata: { annotations: requested } });
      await sleep(20);
    }
  };
  const lanes = Promise.all(Array.from({ length: LANES }, lane));
  return {
    stop: async () => {
      isStopped = true;
      await lanes;
      for (const server of [silent, large]) {
        server.close();
        server.closeAllConnections();
      }
      return edits;
    },
  };
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

/** As a host without protocol version 2 does: all refs at once, whoever asks for what. */
const answerWithRefs: RequestListener = (_, response) => {
  response.on('error', () => {});
  response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' });
  response.write(`${packet('# service=git-upload-pack\n')}0000${packet(`${'a'.repeat(40)} HEAD\0agent=git\n`)}`);
  void writeRefs(response);
};

async function writeRefs(response: ServerResponse): Promise<void> {
  const batch = Array.from({ length: 1_000 }, (_, index) => packet(`${'a'.repeat(40)} refs/heads/x-${index}\n`)).join(
    '',
  );
  for (let written = 0; written < ANSWER_BYTES && !response.destroyed; written += batch.length) {
    if (!response.write(batch)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  response.end('0000');
}
