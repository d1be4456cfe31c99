import { createSecureContext, type SecureContext } from 'node:tls';
import { LruMap } from '../../domain/lru-map.ts';

/** Maximum number of contexts kept. */
const MAX_CONTEXTS = 16;

/** What TLS makes of CA bundles: reading one costs time, and would for each connection. */
export class TrustedCas {
  readonly #contexts = new LruMap<string | undefined, SecureContext>(MAX_CONTEXTS);

  /**
   * For a bundle (PEM) that is trusted, and nothing else; undefined: the CAs of the image. As for git, a certificate of the
   * bundle is trusted whoever signed it.
   */
  contextOf(ca: string | undefined): SecureContext {
    const context =
      this.#contexts.get(ca) ?? createSecureContext(ca === undefined ? {} : { ca, allowPartialTrustChain: true });
    this.#contexts.set(ca, context);
    return context;
  }
}
