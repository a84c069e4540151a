import type { FastifyInstance, HTTPMethods } from 'fastify';

/** Which methods an address answers, for `Allow` (RFC 9110 §10.2.1). Knows the routes registered after it was made. */
export class AllowedMethods {
  readonly #seen = new Set<HTTPMethods>();

  constructor(private readonly instance: FastifyInstance) {
    instance.addHook('onRoute', ({ method }) => {
      for (const each of [method].flat()) this.#seen.add(each as HTTPMethods);
    });
  }

  /**
   * @param target of a request that the router could read
   * @returns sorted; empty when the address answers nothing at all
   */
  of(target: string): readonly string[] {
    // `findRoute` goes the router's own way, so this follows its slashes, parameters and percent-encodings.
    const found = [...this.#seen].filter(
      (method) => this.instance.findRoute({ method, url: target }) !== null,
    );
    return found.length === 0 ? [] : [...new Set([...found, 'OPTIONS'])].sort();
  }
}
