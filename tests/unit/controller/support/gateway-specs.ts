import * as v from 'valibot';
import { type GatewaySyncSpec, gatewaySyncSpecSchema } from '../../../../shared/api/gateway-sync.ts';

/** The spec of a small GatewaySync with all defaults; `fields` are laid over it, key by key at the first level. */
export function gatewaySpec(fields: object = {}): GatewaySyncSpec {
  return v.parse(gatewaySyncSpecSchema, {
    git: { repo: 'https://git.test/app.git', ref: 'main' },
    sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } },
    ...fields,
  });
}
