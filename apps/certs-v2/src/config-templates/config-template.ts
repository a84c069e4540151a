/**
 * What somebody puts into the configuration of a server so that it serves a certificate. Placeholders stand between double
 * underscores, and no other double underscore may stand in it: the existing command-line client fills in the paths of its
 * files, of which CERT, KEY, CHAIN and CHAINED always exist, COMBINED and ROOT where its user enabled them.
 */
export interface ConfigTemplate {
  readonly name: string;
  /** @param security whether recommended settings are to stand in it besides */
  text(security: boolean): string;
}

/** What may stand between double underscores. */
export const placeholders = ['CERT', 'KEY', 'CHAIN', 'CHAINED', 'COMBINED', 'ROOT', 'DHPARAMS'] as const;
