import { createSecureContext, type SecureContext } from 'node:tls';

/** So many are kept: those that were used last. */
const MAX_CONTEXTS = 16;

/** What TLS makes of CA bundles: reading one costs time, and would for each connection. */
export class TrustedCas {
  readonly #contexts = new Map<string | undefined, SecureContext>();

  /**
   * For a bundle (PEM) that is trusted, and nothing else; undefined: the CAs of the image. As for git, a certificate of the
   * bundle is trusted whoever signed it.
   */
  contextOf(ca: string | undefined): SecureContext {
    const context =
      this.#contexts.get(ca) ?? createSecureContext(ca === undefined ? {} : { ca, allowPartialTrustChain: true });
    this.#contexts.delete(ca);
    this.#contexts.set(ca, context);
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size > MAX_CONTEXTS) this.#contexts.delete(oldest);
    return context;
  }
}
