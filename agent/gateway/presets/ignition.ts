import * as v from 'valibot';
import { ANSWER_BOUNDS, readJson } from '../../../shared/domain/text/read-json.ts';
import { TransientError } from '../../../shared/errors.ts';
import type { CallLimits, GatewayClient, GatewayRequest } from '../gateway-client.ts';

const withKey = (request: GatewayRequest): GatewayRequest => ({ ...request, apiKeyHeader: 'X-Ignition-API-Token' });

/**
 * Inductive Automation Ignition 8.3 and later, through its REST API (a gateway documents its version under `/openapi`).
 * The key goes into `X-Ignition-API-Token`.
 */
export const ignition = {
  /** Projects before configuration, which can refer to them. */
  reload: async (client: GatewayClient, limits: CallLimits) => {
    await client.send(withKey({ method: 'POST', path: '/data/api/v1/scan/projects', ...limits }));
    await client.send(withKey({ method: 'POST', path: '/data/api/v1/scan/config', ...limits }));
  },
  listEditors: async (client: GatewayClient) => {
    const { body } = await client.send(withKey({ method: 'GET', path: '/data/api/v1/designers' }));
    const sessions = readJson(sessionsSchema, Buffer.from(body), ANSWER_BOUNDS);
    if (!sessions) throw unreadable();
    return sessions.items.map(({ user, project }) =>
      `${user ?? 'unknown user'}${project ? ` on ${project}` : ''}`.slice(0, MAX_EDITOR_LENGTH),
    );
  },
  /** A scan has no result to query. A running gateway responds to this request; one that is starting doesn't. */
  checks: [withKey({ method: 'GET', path: '/data/api/v1/gateway-info' })],
};

/** The gateway chooses the names, which appear in log lines and reports. */
const MAX_EDITOR_LENGTH = 100;

const sessionsSchema = v.object({
  items: v.array(v.object({ user: v.nullish(v.string()), project: v.nullish(v.string()) })),
});

const unreadable = () =>
  new TransientError('cannot list the editors on the gateway: unexpected response to GET /data/api/v1/designers', {
    code: 'gateway.answer',
    reason: 'GatewayRefused',
  });
