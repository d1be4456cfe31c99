import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCertificates } from '../../testbed/certificates.ts';
import { writeKubeconfig } from '../../testbed/cluster-access.ts';
import { freePort } from '../../testbed/free-port.ts';
import { startGuarded } from '../../testbed/guarded-process.ts';
import type { ServerDetails } from '../../testbed/server-details.ts';
import { step } from '../../testbed/step.ts';
import { makeTemporaryFolder } from '../../testbed/temporary-folder.ts';
import { untilListening } from '../../testbed/until-listening.ts';
import { spread } from '../table.ts';
import { costOf, loadReceiver, type ReceiverLoad } from './cost-of.ts';
import { bundleOther, type Server, startOther, startReceiver } from './world.ts';

/** A row of the benchmark's table. */
export type Row = [what: string, measured: string, floor: string, ratio: string, aim: string];

/** Microseconds of a request: of the first ones, and of those after three times as many. */
interface Costs {
  cold: number;
  warm: number;
}

/**
 * What the way of a delivery costs next to the same work in one handler of h3, bundled alike. A pair runs at the same
 * time, so that both meet the same machine, next to an API server that is played and takes little processor time. Gives
 * rows of the benchmark's table, whose floor is the handler.
 */
export async function compareWays({ launches, seconds }: { launches: number; seconds: number }): Promise<Row[]> {
  const folder = await makeTemporaryFolder('bench-ways-');
  const api = await startSlowApi(folder.path);
  const bundle = await bundleOther('flat', folder.path);
  const rows: Row[] = [];
  try {
    for (const [what, load, environment] of [
      ['202', { seconds, resources: 1000 }, {}],
      ['401', { seconds, resources: 1, secret: 'another secret' }, { MAX_AUTH_FAILURES_PER_MINUTE: '0' }],
    ] as const) {
      const pairs: { own: Costs; flat: Costs }[] = [];
      for (let launch = 1; launch <= launches; launch++) {
        await step(`the way of a ${what}: pair ${launch} of ${launches}`, async () => {
          const own = startReceiver(api, environment).then((server) => costsOf(server, load));
          const flat = startOther(api, 'flat', bundle).then((server) => costsOf(server, load));
          pairs.push({ own: await own, flat: await flat });
        });
      }
      for (const when of ['cold', 'warm'] as const) {
        const [own, flat] = [pairs.map((pair) => pair.own[when]), pairs.map((pair) => pair.flat[when])];
        const ratios = pairs.map((pair) => pair.flat[when] / pair.own[when]);
        rows.push([
          `the way of a ${what}, ${when}`,
          `${spread(own)} µs`,
          `${spread(flat)} µs`,
          spread(ratios, 2),
          '≥ 0.9',
        ]);
      }
    }
  } finally {
    await api.stop();
    await folder.remove();
  }
  return rows;
}

/** The server is stopped afterwards. */
async function costsOf(server: Server, load: ReceiverLoad): Promise<Costs> {
  const cold = await costOf(server, load);
  await loadReceiver(server, { ...load, seconds: 2 * load.seconds });
  const warm = await costOf(server, load);
  await server.process.stop();
  return { cold, warm };
}

interface SlowApi extends ServerDetails {
  stop(): Promise<unknown>;
}

async function startSlowApi(dir: string): Promise<SlowApi> {
  const { caFile, certFile, keyFile } = await createCertificates(dir);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const log = path.join(dir, 'slow-api-server.log');
  const script = fileURLToPath(import.meta.resolve('./slow-api-server.ts'));
  const server = startGuarded(process.execPath, [script, String(port), certFile, keyFile], { output: { log } });
  await untilListening(server, { name: 'the played API server', port, log });
  const kubeconfig = await writeKubeconfig(path.join(dir, 'kubeconfig'), { url, caFile, token: 'nobody asks for it' });
  return { dir, url, caFile, kubeconfig, stop: () => server.stop() };
}
