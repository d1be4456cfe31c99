import type { Command } from '../command-support/command.ts';
import { approve } from './approve.ts';
import { capture } from './capture.ts';
import { check } from './check.ts';
import { completion } from './completion.ts';
import { diff } from './diff.ts';
import { doctor } from './doctor.ts';
import { drift } from './drift.ts';
import { history } from './history.ts';
import { migrate } from './migrate.ts';
import { pause, resume } from './pause.ts';
import { plan } from './plan.ts';
import { retry } from './retry.ts';
import { rollback } from './rollback.ts';
import { status } from './status.ts';
import { sync } from './sync.ts';
import { trace } from './trace.ts';
import { ui } from './ui.ts';

/** All commands in the order of the help. For a new one, add a file in this directory and a line here. */
export const COMMANDS: readonly Command[] = [
  status,
  sync,
  plan,
  diff,
  drift,
  capture,
  trace,
  ui,
  doctor,
  history,
  pause,
  resume,
  approve,
  rollback,
  retry,
  check,
  migrate,
  completion,
];
