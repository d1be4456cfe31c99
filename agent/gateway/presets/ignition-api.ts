import type * as v from 'valibot';
import { ANSWER_BOUNDS, readJson } from '../../../shared/domain/text/read-json.ts';
import type { GatewayRequest } from '../gateway-client.ts';
import type { PresetScope } from './preset.ts';

const API = '/data/api/v1';
/** Time limit of a request whose result the agent can do without (ms). */
const HINT_MS = 3_000;

/** A request of the preset; its path is relative to Ignition's API. */
type IgnitionRequest = Pick<GatewayRequest, 'method' | 'path' | 'headers' | 'body'>;

/** Adds the API's path and the header of its key. */
export const withKey = <T extends IgnitionRequest>(request: T) => ({
  ...request,
  path: `${API}${request.path}`,
  apiKeyHeader: 'X-Ignition-API-Token',
});

/** Sends a request, and returns the body of the response. Throws the client's errors. */
export async function send(request: IgnitionRequest, { client, timeoutMs, signal }: PresetScope): Promise<string> {
  const limits = { ...(timeoutMs !== undefined && { timeoutMs }), signal };
  const { body } = await client.send({ ...withKey(request), ...limits });
  return body;
}

/** Gets a value that the agent can do without; undefined if the gateway doesn't have it, refuses it, or is silent. */
export async function ask<TSchema extends v.GenericSchema>(
  schema: TSchema,
  path: string,
  scope: PresetScope,
): Promise<v.InferOutput<TSchema> | undefined> {
  const timeoutMs = Math.min(scope.timeoutMs ?? HINT_MS, HINT_MS);
  try {
    const body = await send({ method: 'GET', path }, { ...scope, timeoutMs });
    return readJson(schema, Buffer.from(body), ANSWER_BOUNDS);
  } catch (err) {
    scope.log.debug({ err, path }, 'no response from Ignition');
    return undefined;
  }
}

/** Requests the scans. Projects come before configuration, which can refer to them. */
export async function requestScans(scope: PresetScope): Promise<void> {
  for (const path of ['/scan/projects', '/scan/config']) await send({ method: 'POST', path }, scope);
}
