import type { Row } from './lay-out.ts';
import { timeSeries } from './panels.ts';

/** Marks the processes of controller and receiver among all that export metrics of these names. */
const OURS = 'and on (job, instance) (sync_controller_leader or sync_receiver_unauthenticated)';

/** What controller and receiver use of their nodes. */
export const processes: Row = {
  title: 'Processes',
  panels: [
    timeSeries({
      title: 'Memory',
      description: 'Resident memory of controller and receiver. The chart limits each to 128 MiB by default.',
      queries: [{ expr: `process_resident_memory_bytes ${OURS}`, legend: '{{job}} {{pod}}' }],
      unit: 'bytes',
    }),
    timeSeries({
      title: 'CPU',
      description: 'Cores that controller and receiver use.',
      queries: [{ expr: `rate(process_cpu_seconds_total[$__rate_interval]) ${OURS}`, legend: '{{job}} {{pod}}' }],
    }),
    timeSeries({
      title: 'Event loop lag',
      description:
        '99th percentile of how late the runtime is for its own timers: high where a process is short of CPU.',
      queries: [{ expr: `nodejs_eventloop_lag_p99_seconds ${OURS}`, legend: '{{job}} {{pod}}' }],
      unit: 's',
    }),
  ],
};
