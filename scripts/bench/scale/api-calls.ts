import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { ControlPlane } from '../../testbed/control-plane.ts';

/** What the API server says of itself. */
export interface ApiMetrics {
  /** Calls so far by verb and resource, such as `PATCH gatewaysyncs/status`. */
  calls: Map<string, number>;
  /** Calls that priority and fairness refused. */
  rejected: number;
  watches: number;
  /** Bytes of its database in etcd. */
  stored: number;
}

/** Reads the metrics of an API server. */
export async function readApiMetrics({ url, kubeconfig, caFile }: ControlPlane): Promise<ApiMetrics> {
  const { users } = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const headers = { authorization: `Bearer ${users[0].user.token}` };
  const ca = await readFile(caFile, 'utf8');
  const page = await new Promise<string>((resolve, reject) => {
    request(new URL('/metrics', url), { ca, headers }, (response) => text(response).then(resolve, reject))
      .on('error', reject)
      .end();
  });
  return parseApiMetrics(page);
}

/** Of a page in Prometheus' text format. */
export function parseApiMetrics(page: string): ApiMetrics {
  const metrics: ApiMetrics = { calls: new Map(), rejected: 0, watches: 0, stored: 0 };
  for (const line of page.split('\n')) {
    const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const label = (key: string) => new RegExp(`(?:^|,)${key}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const number = Number(value);
    if (name === 'apiserver_request_total') {
      const subresource = label('subresource');
      const call = `${label('verb')} ${label('resource')}${subresource && `/${subresource}`}`;
      metrics.calls.set(call, (metrics.calls.get(call) ?? 0) + number);
    } else if (name === 'apiserver_flowcontrol_rejected_requests_total') metrics.rejected += number;
    else if (name === 'apiserver_longrunning_requests' && label('verb') === 'WATCH') metrics.watches += number;
    else if (name === 'apiserver_storage_size_bytes') metrics.stored += number;
  }
  return metrics;
}

/** Calls between two looks, a second, most frequent first. */
export function callsPerSecond(before: ApiMetrics, after: ApiMetrics, seconds: number): [call: string, rate: number][] {
  const rates = Array.from(after.calls, ([call, count]): [string, number] => [
    call,
    (count - (before.calls.get(call) ?? 0)) / seconds,
  ]);
  return rates.filter(([, rate]) => rate > 0).sort(([, a], [, b]) => b - a);
}
