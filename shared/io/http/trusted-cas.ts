import { createSecureContext, type SecureContext } from 'node:tls';
import { LruMap } from '../../domain/limits/lru-map.ts';

/** Maximum number of contexts kept. */
const MAX_CONTEXTS = 16;

/** TLS contexts by CA bundle, because parsing a bundle for each connection is slow. */
export class TrustedCas {
  readonly #contexts = new LruMap<string | undefined, SecureContext>(MAX_CONTEXTS);

  /**
   * Returns a context that trusts only a bundle (PEM), or the image's CAs if undefined. As in git, a certificate in the
   * bundle is trusted regardless of its issuer.
   */
  contextOf(ca: string | undefined): SecureContext {
    const context =
      this.#contexts.get(ca) ?? createSecureContext(ca === undefined ? {} : { ca, allowPartialTrustChain: true });
    this.#contexts.set(ca, context);
    return context;
  }
}
