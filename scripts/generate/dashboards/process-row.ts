import type { Row } from './lay-out.ts';
import { timeSeries } from './panels.ts';

/** Selects the processes of controller and receiver among all that export metrics with these names. */
const OURS = 'and on (job, instance) (sync_controller_leader or sync_receiver_unauthenticated)';

/** Resources that controller and receiver use. */
export const processes: Row = {
  title: 'Processes',
  panels: [
    timeSeries({
      title: 'Memory',
      description: 'Resident memory of the controller and the receiver. By default, the chart limits each to 128 MiB.',
      queries: [{ expr: `process_resident_memory_bytes ${OURS}`, legend: '{{job}} {{pod}}' }],
      unit: 'bytes',
    }),
    timeSeries({
      title: 'CPU',
      description: 'CPU cores used by the controller and the receiver.',
      queries: [{ expr: `rate(process_cpu_seconds_total[$__rate_interval]) ${OURS}`, legend: '{{job}} {{pod}}' }],
    }),
    timeSeries({
      title: 'Event loop lag',
      description: '99th percentile of the delay of timers in the process. It is high if the process is short of CPU.',
      queries: [{ expr: `nodejs_eventloop_lag_p99_seconds ${OURS}`, legend: '{{job}} {{pod}}' }],
      unit: 's',
    }),
  ],
};
