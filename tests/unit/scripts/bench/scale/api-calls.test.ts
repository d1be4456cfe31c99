import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsPerSecond, parseApiMetrics } from '../../../../../scripts/bench/scale/api-calls.ts';

const page = (patches: number) => `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="sync.io",resource="gatewaysyncs",subresource="status",verb="PATCH"} ${patches}
apiserver_request_total{code="409",group="sync.io",resource="gatewaysyncs",subresource="status",verb="PATCH"} 2
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="LIST"} 7
apiserver_longrunning_requests{resource="pods",verb="WATCH"} 3
apiserver_longrunning_requests{resource="pods",verb="GET"} 9
apiserver_flowcontrol_rejected_requests_total{reason="time-out"} 4
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 1.5e+06
`;

test('calls are counted by verb and resource, whatever the answer was', () => {
  const { calls, rejected, watches, stored } = parseApiMetrics(page(10));
  assert.deepEqual(
    [...calls],
    [
      ['PATCH gatewaysyncs/status', 12],
      ['LIST pods', 7],
    ],
  );
  assert.deepEqual([rejected, watches, stored], [4, 3, 1_500_000]);
});

test('rates are those of the calls between two looks', () => {
  const rates = callsPerSecond(parseApiMetrics(page(10)), parseApiMetrics(page(40)), 10);
  assert.deepEqual(rates, [['PATCH gatewaysyncs/status', 3]]);
});
