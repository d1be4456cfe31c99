import type { GatewaySyncSpec } from '../../api/gateway-sync.ts';

/** A key of a Secret, and the field that names it. */
interface HeaderSecret {
  field: string;
  secretRef: { name: string; key: string };
}

/** Returns the keys of Secrets with values of headers in requests to the gateway. */
export const headerSecrets = ({ reload, verify }: Partial<GatewaySyncSpec['gateway']>): HeaderSecret[] =>
  Object.entries({ reload, verify }).flatMap(([section, { requests = [] } = {}]) =>
    requests
      .flatMap(({ headersFrom = [] }) => headersFrom)
      .map(({ secretRef }) => ({ field: `spec.gateway.${section}.requests`, secretRef })),
  );
