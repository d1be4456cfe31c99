import { reportStatus } from '../../../agent/report/reports.ts';
import { judgeResource } from '../../../agent/resource/judge-resource.ts';
import { intentAfter, standingOf } from '../../../agent/sync/in-force.ts';
import { decide } from '../../../controller/reconcile/decide/decide.ts';
import {
  affectedByGatewaySync,
  affectedByReport,
  isDecidedElsewhere,
} from '../../../controller/reconcile/queue/affected.ts';
import { projectGatewaySync } from '../../../controller/watch/observed-gateway-sync.ts';
import {
  annotationsOf,
  isSuperseded,
  mergeAnnotations,
  repositoryOf,
  withoutPart,
} from '../../../receiver/annotations/annotations-of.ts';
import { judgeFailure } from '../../../receiver/annotations/judge-failure.ts';
import { annotated, withStatus } from './api-server.ts';

/** Functions called by the model: the real code, unless a test breaks a part to check that the model finds it. */
export const PARTS = {
  // The API server's rules.
  annotated,
  withStatus,
  // The receiver.
  annotationsOf,
  mergeAnnotations,
  repositoryOf,
  withoutPart,
  isSuperseded,
  judgeFailure,
  // The controller.
  projectGatewaySync,
  decide,
  affectedByGatewaySync,
  affectedByReport,
  isDecidedElsewhere,
  // The agent.
  judgeResource,
  intentAfter,
  standingOf,
  reportStatus,
};

export type Parts = typeof PARTS;
