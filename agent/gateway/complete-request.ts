import { BOUNDS } from '../../shared/api/bounds.ts';
import { renderTemplate, type TemplateValues } from '../../shared/domain/files/render-template.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { Intent, ReloadRequest } from '../resource/judge-resource.ts';
import type { GatewayRequest } from './gateway-client.ts';
import { readHeaders } from './read-secrets.ts';
import { syncHeaders } from './sync-headers.ts';

/** What a request needs besides the spec. */
export interface RequestContext {
  /** Directory with the values of headers. */
  headersDirectory: string | undefined;
  /** Returns the values of templates. */
  valuesOf: (intent: Intent) => Promise<TemplateValues>;
}

/** A request of the spec or of a preset. */
export type SpecRequest = Pick<ReloadRequest, 'method' | 'path' | 'body' | 'headers' | 'headersFrom' | 'expectStatus'> &
  Pick<GatewayRequest, 'apiKeyHeader'>;

/** Returns a request with all its headers and its rendered body. Throws typed errors. */
export async function completeRequest(
  request: SpecRequest,
  intent: Intent,
  { headersDirectory, valuesOf }: RequestContext,
): Promise<GatewayRequest> {
  const { method, path, body, expectStatus, apiKeyHeader } = request;
  const headers = { ...(await readHeaders(request, headersDirectory)), ...syncHeaders(intent) };
  const rendered =
    body === undefined ? undefined : renderText(body, await valuesOf(intent), `the body of ${method} ${path}`);
  return { method, path, expectStatus, apiKeyHeader, headers, body: rendered };
}

/** Renders a text of the spec; `what` describes it in the error. */
export function renderText(text: string, values: TemplateValues, what: string): string {
  const rendered = renderTemplate(text, values, BOUNDS.value);
  if (rendered.kind === 'rendered') return rendered.text;
  throw new TerminalError(`${what} in spec.gateway: ${rendered.message}`, {
    code: 'gateway.body',
    reason: 'ReloadRequestInvalid',
  });
}
